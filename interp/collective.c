// SPDX-License-Identifier: Apache-2.0
// Collectives of a program that runs as one process: groups of one participant, for which every collective is an
// identity (or, for collective_permute without a source, zeros). More participants are refused by name.
#include "interp/interp_internal.h"

static lemnos_status run_identity(interp_call *c) {
  for (int k = 0; k < c->in->n_results; k++) {
    if (c->in->result_types[k].dtype == HLO_TOKEN)
      interp_array_set_type(interp_result(c, k), HLO_TOKEN, 0, NULL);
    else
      interp_take_arg(c, k, interp_result_value(c, k));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_zeros(interp_call *c) {
  for (int k = 0; k < c->in->n_results; k++)
    memset(interp_result(c, k)->data, 0, (size_t)interp_bytes(interp_result(c, k)));
  return LEMNOS_SUCCESS;
}

static lemnos_status run_id(interp_call *c) {
  bool partition = c->in->src->op == HLO_OP_PARTITION_ID;
  interp_array *out = interp_result(c, 0);
  hlo_element_set_i64(out->dtype, out->data, 0, partition ? c->cx->options->partition_id : c->cx->options->replica_id);
  return LEMNOS_SUCCESS;
}

// One participant: no groups given, or groups of one.
static lemnos_status compile_groups(interp_compiler *c, interp_insn *in, const hlo_groups *g) {
  for (int r = 0; g && r < g->rows; r++) {
    int n = 0;
    for (int k = 0; k < g->cols; k++) n += g->data[r * g->cols + k] >= 0;
    if (n > 1) return interp_refuse(in->src, "a group of %d participants", n);
  }
  if (g && g->rows == 0 && (c->module->n_replicas > 1 || c->module->n_partitions > 1))
    return interp_refuse(in->src, "more than one participant");
  for (int k = 0; k < in->n_results; k++)
    if (k >= in->n_args || !interp_same_type(&in->result_types[k], &in->arg_types[k]))
      return interp_refuse(in->src, "a result that is not its operand");
  in->flags |= INTERP_SELF_ALLOC;
  in->fn = run_identity;
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_collective(interp_compiler *c, interp_insn *in) {
  const hlo_instr *i = in->src;
  switch (i->op) {
    case HLO_OP_ALL_GATHER:
      return compile_groups(c, in, &HLO_ATTRS(i, all_gather)->replica_groups);
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_COLLECTIVE_REDUCE:
      return compile_groups(c, in, &HLO_ATTRS(i, all_reduce)->replica_groups);
    case HLO_OP_REDUCE_SCATTER:
      return compile_groups(c, in, &HLO_ATTRS(i, reduce_scatter)->replica_groups);
    case HLO_OP_ALL_TO_ALL:
      if (HLO_ATTRS(i, all_to_all)->split_count > 1) return interp_refuse(i, "more than one participant");
      return compile_groups(c, in, &HLO_ATTRS(i, all_to_all)->replica_groups);
    case HLO_OP_COLLECTIVE_BROADCAST: {
      // A process that is in no group gets zeros.
      const hlo_groups *g = &HLO_ATTRS(i, collective_broadcast)->replica_groups;
      bool listed = false;
      for (int k = 0; k < g->rows * g->cols; k++) listed = listed || g->data[k] == 0;
      if (!listed && c->module->n_replicas <= 1 && c->module->n_partitions <= 1)
        return in->fn = run_zeros, LEMNOS_SUCCESS;
      return compile_groups(c, in, g);
    }
    case HLO_OP_COLLECTIVE_PERMUTE: {
      const hlo_pairs *p = &HLO_ATTRS(i, collective_permute)->source_target_pairs;
      if (c->module->n_replicas > 1 || c->module->n_partitions > 1)
        return interp_refuse(i, "more than one participant");
      bool to_self = false;
      for (int k = 0; k < p->n; k++) {
        if (p->data[2 * k] != 0 || p->data[2 * k + 1] != 0) return interp_refuse(i, "a participant other than 0");
        to_self = true;
      }
      if (to_self) return compile_groups(c, in, NULL);
      in->fn = run_zeros;
      return LEMNOS_SUCCESS;
    }
    case HLO_OP_PARTITION_ID:
    case HLO_OP_REPLICA_ID:
      in->fn = run_id;
      return LEMNOS_SUCCESS;
    default:
      return interp_refuse(i, "operation is not supported");
  }
}
