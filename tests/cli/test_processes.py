#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tool with programs for several processes: arguments and results of each, deadlocks, feeds, prints.

Usage: test_processes.py LEMNOS EXAMPLE SOURCE_ROOT [unittest arguments]. Expected values are worked out by hand.
"""
import struct
import sys
import unittest
import zipfile

from test_cli import Case, f32, npy, npz, read_npy


def module(body, replicas=1, partitions=1, args="", results="tensor<2xf32>"):
    return """module attributes {mhlo.num_replicas = %d : i32, mhlo.num_partitions = %d : i32} {
func.func @main(%s) -> %s {
%s
}
}
""" % (replicas, partitions, args, "(%s)" % results, body)


def all_reduce(result, operand, groups, more=""):
    rows, cols = len(groups), len(groups[0])
    return """  %%%s = "stablehlo.all_reduce"(%%%s) ({
  ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):
    %%s = stablehlo.add %%a, %%b : tensor<f32>
    stablehlo.return %%s : tensor<f32>
  }) {replica_groups = dense<%s> : tensor<%dx%dxi64>%s} : (tensor<2xf32>) -> tensor<2xf32>
""" % (result, operand, groups, rows, cols, more)


def channel(handle, kind):
    return "channel_handle = #stablehlo.channel_handle<handle = %d, type = %d>" % (handle, kind)


# Replicas add up, within each partition: processes 0 and 2, 1 and 3; then y is added.
SUMS = module(
    all_reduce("0", "x", [[0, 1]]) +
    "  %1 = stablehlo.add %0, %y : tensor<2xf32>\n  return %1 : tensor<2xf32>", 2, 2,
    "%x: tensor<2xf32>, %y: tensor<2xf32>")

FEED = module(
    """  %t = stablehlo.create_token : !stablehlo.token
  %0:3 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xf32>, tensor<2xf32>, !stablehlo.token)
  %1 = stablehlo.subtract %0#0, %0#1 : tensor<2xf32>
  %2 = "stablehlo.outfeed"(%1, %0#2) {outfeed_config = ""} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %3 = "stablehlo.send"(%1, %2) {CHANNEL7, is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %4:2 = "stablehlo.recv"(%3) {CHANNEL9, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %4#0 : tensor<2xf32>""".replace("CHANNEL7", channel(7, 2)).replace("CHANNEL9", channel(9, 3)), 1, 2)


class Processes(Case):
    def results(self, name):
        with zipfile.ZipFile(self.path(name)) as z:
            return {n[:-4]: read_npy(z.read(n)) for n in z.namelist()}

    def test_whole_arrays(self):
        """Of a program with shardings every process computes all: said, and only where there are several."""
        text = """module attributes {mhlo.num_partitions = %d : i32} {
  func.func @main(%%x: tensor<2xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<2xf32> {
    %%0 = stablehlo.add %%x, %%x : tensor<2xf32>
    return %%0 : tensor<2xf32>
  }
}
"""
        for n, warned in ((2, True), (1, False)):
            m = self.file("m.mlir", text % n)
            p = self.lemnos_raw("run", m, "--per-process", "--inputs=ones", "--device=interp")
            self.assertEqual((p.returncode, "each of the 2 processes computes all of it" in p.stderr), (0, warned), p.stderr)
        self.assertEqual(self.lemnos("run", self.file("m.mlir", text % 2), "--inputs=ones", "--device=interp")[1], "")

    def test_arguments_of_each(self):
        m = self.file("m.mlir", SUMS)
        self.file("in.npz", npz({
            "arg0@%d" % p: npy("<f4", (2,), f32(10**p, 2 * 10**p)) for p in range(4)} | {
            "arg1": npy("<f4", (2,), f32(.5, .25)), "arg1@3": npy("<f4", (2,), f32(7, 8))}))
        self.lemnos("run", m, "--per-process", "--inputs=in.npz", "--outputs=out.npz", "--device=interp")
        want = {"out0@0": f32(101.5, 202.25), "out0@1": f32(1010.5, 2020.25), "out0@2": f32(101.5, 202.25),
                "out0@3": f32(1017, 2028)}
        self.assertEqual({k: v[3] for k, v in self.results("out.npz").items()}, want)
        self.file("want.npz", npz({k: npy("<f4", (2,), v) for k, v in want.items()}))
        out = self.lemnos("run", m, "--per-process", "--inputs=in.npz", "--expect=want.npz", "--device=interp")[0]
        self.assertIn("out0@3 tensor<2xf32>: ok", out)
        self.file("want.npz", npz({k: npy("<f4", (2,), f32(101.5, 202.25)) for k in want}))
        out, _ = self.lemnos("run", m, "--per-process", "--inputs=in.npz", "--expect=want.npz", "--device=interp", code=1)
        self.assertIn("out0@1 tensor<2xf32>: DIFFERS", out)
        self.assertIn("out0@2 tensor<2xf32>: ok", out)

    def test_single_arguments(self):
        m = self.file("m.mlir", SUMS)
        out = self.lemnos("run", m, "--per-process", "--input=arg0@2=2xf32=5,6", "--input=2xf32=1", "--input=2xf32=0",
                          "--device=interp")[0]
        self.assertEqual(out.split("\n")[:2], ["out0@0: tensor<2xf32>", "[6 7]"])
        self.assertIn("out0@1: tensor<2xf32>\n[2 2]", out)

    def test_one_set_for_all(self):
        m = self.file("m.mlir", SUMS)
        self.assertEqual(self.lemnos("run", m, "--input=2xf32=3,4", "--input=2xf32=1", "--device=interp")[0],
                         "out0: tensor<2xf32>\n[7 9]\n")

    def test_without_meetings(self):
        """Processes that cannot know of each other run on the device, one by one."""
        m = self.file("m.mlir", module("  %0 = stablehlo.add %x, %x : tensor<2xf32>\n  return %0 : tensor<2xf32>", 1, 2,
                                       "%x: tensor<2xf32>"))
        out = self.lemnos("run", m, "--per-process", "--input=arg0@0=2xf32=1,2", "--input=arg0@1=2xf32=3,4")[0]
        self.assertEqual(out, "out0@0: tensor<2xf32>\n[2 4]\nout0@1: tensor<2xf32>\n[6 8]\n")

    def test_wrong_arguments(self):
        m = self.file("m.mlir", SUMS)
        self.refused("arg0@1=2xf32=1 is for one process: this needs --per-process", "run", m,
                     "--input=arg0@1=2xf32=1", "--inputs=zeros")
        self.refused(r"process 1: argument 0 \(tensor<2xf32>\) is missing", "run", m, "--per-process",
                     "--input=arg0@0=2xf32=1", "--input=arg1=2xf32=1")
        self.refused("argument 0 is given twice", "run", m, "--per-process", "--input=arg0@0=2xf32=1",
                     "--input=arg0@0=2xf32=1", "--inputs=zeros")

    def deadlock(self, text, *patterns):
        m = self.file("m.mlir", text)
        _, err = self.lemnos("run", m, "--inputs=zeros", "--device=interp", code=5)
        for pattern in patterns:
            self.assertRegex(err, pattern)

    def test_deadlock_of_order(self):
        """Replica 0 reduces with 1 on channel 1, then on 2; replica 1 the other way round."""
        def branch(first, second):
            one = all_reduce("p", "x", [[0, 1]], ", use_global_device_ids, " + channel(first, 1))
            two = all_reduce("q", "p", [[0, 1]], ", use_global_device_ids, " + channel(second, 1))
            return one + two + "    stablehlo.return %q : tensor<2xf32>\n"
        text = module("  %id = stablehlo.replica_id : tensor<ui32>\n  %i = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>\n"
                      '  %r = "stablehlo.case"(%i) ({\n' + branch(1, 2) + "  }, {\n" + branch(2, 1) +
                      "  }) : (tensor<i32>) -> tensor<2xf32>\n  return %r : tensor<2xf32>", 2, 1, "%x: tensor<2xf32>")
        self.deadlock(text, "deadlock: every process that is left waits",
                      r"process \(0, 0\) waits at all-reduce \(%\S+\), \S*m.mlir:6:8, for \(1, 0\)",
                      r"process \(1, 0\) waits at all-reduce \(%\S+\), \S*m.mlir:18:8, for \(0, 0\)")

    def test_deadlock_of_absence(self):
        """Only process 0 comes to the reduction."""
        text = module("  %id = stablehlo.partition_id : tensor<ui32>\n  %i = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>\n"
                      '  %r = "stablehlo.case"(%i) ({\n' +
                      all_reduce("p", "x", [[0, 1, 2]], ", use_global_device_ids, " + channel(1, 1)) +
                      "    stablehlo.return %p : tensor<2xf32>\n  }, {\n    stablehlo.return %x : tensor<2xf32>\n"
                      "  }) : (tensor<i32>) -> tensor<2xf32>\n  return %r : tensor<2xf32>", 1, 3, "%x: tensor<2xf32>")
        self.deadlock(text, r"process \(0, 0\) waits at all-reduce \(%\S+\), \S*m.mlir:6:8, for \(0, 1\), \(0, 2\)",
                      r"2 of 3 processes have ended")

    def test_deadlock_of_channels(self):
        recv = """  %t = stablehlo.create_token : !stablehlo.token
  %0:2 = "stablehlo.recv"(%t) {CHANNEL, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %0#0 : tensor<2xf32>""".replace("CHANNEL", channel(5, 1))
        self.deadlock(module(recv, 2, 1), r"process \(0, 0\) waits at recv \(%\S+\), \S*m.mlir:4:10, for \(1, 0\) on channel 5",
                      r"process \(1, 0\) waits at recv .*, for \(0, 0\) on channel 5")
        send = """  %t = stablehlo.create_token : !stablehlo.token
  %0 = "stablehlo.send"(%x, %t) {CHANNEL, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>""".replace("CHANNEL", channel(5, 1))
        self.deadlock(module(send, 2, 1, "%x: tensor<2xf32>"),
                      r"process \(0, 0\) sent on channel 5 what process \(1, 0\) did not receive")

    def test_deadlock_in_a_manual_computation(self):
        text = """sdy.mesh @mesh = <["i"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"i"}]>] out_shardings=[<@mesh, [{"i"}]>] manual_axes={"i"} (%y: tensor<2xf32>) {
    %id = stablehlo.partition_id : tensor<ui32>
    %i = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
    %r = "stablehlo.case"(%i) ({
BODY    stablehlo.return %p : tensor<2xf32>
    }, {
      stablehlo.return %y : tensor<2xf32>
    }) : (tensor<i32>) -> tensor<2xf32>
    sdy.return %r : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
""".replace("BODY", all_reduce("p", "y", [[0, 1]], ", use_global_device_ids, " + channel(1, 1)))
        self.deadlock(text, r"process \(0, 0\) waits at all-reduce \(%\S+\), \S*m.mlir:7:8, for \(0, 1\)")

    def test_feeds(self):
        m = self.file("m.mlir", FEED)
        self.file("in.npz", npz({
            "infeed0": npy("<f4", (2,), f32(10, 20)), "infeed1": npy("<f4", (2,), f32(1, 2)),
            "infeed1@1": npy("<f4", (2,), f32(5, 6)), "recv9.0": npy("<f4", (2,), f32(3, 4)),
            "recv9.0@1": npy("<f4", (2,), f32(8, 9))}))
        out = self.lemnos("run", m, "--per-process", "--infeed=in.npz", "--outfeed=fed.npz", "--device=interp")[0]
        self.assertEqual(out, "out0@0: tensor<2xf32>\n[3 4]\nout0@1: tensor<2xf32>\n[8 9]\n")
        self.assertEqual({k: v[3] for k, v in self.results("fed.npz").items()},
                         {"outfeed0@0": f32(9, 18), "send7.0@0": f32(9, 18), "outfeed0@1": f32(5, 14),
                          "send7.0@1": f32(5, 14)})
        self.lemnos("run", m, "--infeed=in.npz", "--outfeed=fed.npz", "--device=interp")
        self.assertEqual({k: v[3] for k, v in self.results("fed.npz").items()},
                         {"outfeed0": f32(9, 18), "send7.0": f32(9, 18)})

    def test_feed_trouble(self):
        m = self.file("m.mlir", FEED)
        self.refused("nothing feeds this run", "run", m, "--device=interp", code=4)
        self.file("in.npz", npz({"infeed0": npy("<f4", (2,), f32(10, 20))}))
        self.refused("in.npz holds no infeed1", "run", m, "--infeed=in.npz", "--device=interp", code=5)
        self.file("in.npz", npz({"infeed0": npy("<f4", (3,), f32(1, 2, 3))}))
        self.refused("infeed0 is not of the type", "run", m, "--infeed=in.npz", "--device=interp", code=5)

    def test_host_transfers_meet(self):
        """A program that receives what it sends needs no data from outside."""
        m = self.file("m.mlir", module("""  %t = stablehlo.create_token : !stablehlo.token
  %0 = "stablehlo.send"(%x, %t) {CHANNEL7, is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %1:2 = "stablehlo.recv"(%0) {CHANNEL9, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %1#0 : tensor<2xf32>""".replace("CHANNEL7", channel(7, 2)).replace("CHANNEL9", channel(7, 3)), 1, 1,
                                       "%x: tensor<2xf32>"))
        self.assertEqual(self.lemnos("run", m, "--input=2xf32=3,4", "--outfeed=fed.npz")[0], "out0: tensor<2xf32>\n[3 4]\n")

    def test_prints(self):
        m = self.file("m.mlir", module("""  %0 = "interpreter.probe"(%x) {probe_id = "here"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  interpreter.print %1 : tensor<2xf32>
  return %1 : tensor<2xf32>""", 1, 1, "%x: tensor<2xf32>"))
        for device in ("interp", ""):
            p = self.lemnos_raw("run", m, "--input=2xf32=1,2", *(["--device=" + device] if device else []))
            self.assertEqual((p.returncode, p.stdout), (0, "out0: tensor<2xf32>\n[2 4]\n"))
            self.assertEqual(p.stderr, "probe here\n2xf32 {1, 2}\n2xf32 {2, 4}\n")

    def lemnos_raw(self, *args):
        from test_cli import LEMNOS, run
        return run([LEMNOS, *args], env=self.env, cwd=self.dir)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:])
