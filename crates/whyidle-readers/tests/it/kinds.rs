//! What is read of each kind of event.

use whyidle_model::{CollectiveOwner, GpuId, GpuKind, HostId, HostKind, NoteCode, Sym};

use super::{CURRENT, LIST, OF_2021, notes, read, trace};

#[test]
fn a_trace_of_today() {
    let trace = read(CURRENT).expect("readable");
    let count = |kind| trace.host.kind.iter().filter(|&&k| k == kind).count();
    assert_eq!(trace.events, 84);
    assert_eq!((count(HostKind::Op), count(HostKind::Annotation)), (10, 4));
    assert_eq!(trace.gpu.kind.iter().filter(|&&k| k == GpuKind::Kernel).count(), 5);

    let meta = &trace.meta;
    assert_eq!(meta.base_unix_ns, 1_790_857_026_000_000_000);
    assert_eq!((meta.devices.len(), meta.devices[1].id, meta.devices[1].multiprocessors), (2, 1, 132));
    let job = meta.distributed.as_ref().expect("distributed");
    assert_eq!((job.rank, job.world_size, &*job.backend, &*job.library_version), (0, 2, "nccl", "2.28.9"));
    assert_eq!(job.groups, [("0".to_owned(), "default_pg".to_owned(), vec![0, 1])]);
    assert!(meta.record_shapes && !meta.with_stack);
    assert!(meta.versions.contains(&("cupti_version".to_owned(), "130001".to_owned())));
    assert_eq!(meta.window, Some((5_114_900_290_925_490, 5_114_900_290_925_490 + 207_811_712)));

    let step = trace.host.get(HostId(0));
    assert_eq!(trace.names.get(step.name), "ProfilerStep#3");
    assert_eq!((step.start, step.dur, step.link), (5_114_900_291_479_491, 67_641_574, 1));
    let to = HostId(2);
    assert_eq!(trace.names.get(trace.host.name[2]), "aten::to");
    assert_eq!(trace.names.get(trace.host.dims[2]), "[[16,1024],[],[],[],[],[],[],[]]");
    assert_eq!(
        trace.names.get(trace.host.types[2]),
        r#"["long int","Scalar","Scalar","","","Scalar","Scalar",""]"#
    );
    let inputs = trace.host.concrete_inputs(to).expect("kept for aten::to");
    assert_eq!(trace.names.get(inputs), r#"["","4","0","","","True","False",""]"#);
    assert_eq!(trace.host.sequence[2], 49572);

    let by_kernel: Vec<_> =
        trace.collectives.iter().filter(|c| matches!(c.owner, CollectiveOwner::Gpu(_))).collect();
    assert_eq!((by_kernel.len(), trace.collectives.len()), (2, 4));
    let text = |sym: Sym| trace.names.get(sym);
    let first = by_kernel[0];
    assert_eq!((text(first.name), text(first.dtype), text(first.ranks)), ("allreduce", "Float", "[0, 1]"));
    assert_eq!((text(first.group), text(first.group_description), first.group_size), ("0", "default_pg", 2));
    assert_eq!((first.in_elements, first.out_elements, first.rank), (32_768_000, 32_768_000, None));
}

#[test]
fn a_trace_of_2021() {
    let trace = read(OF_2021).expect("readable");
    assert_eq!(trace.host.kind, [HostKind::Op, HostKind::Runtime]);
    assert_eq!(trace.host.link, [1, 34417]);
    let stack = trace.host.stack(HostId(0)).expect("a call stack");
    assert_eq!(
        trace.names.get(stack),
        "profiler.py(611): __init__;profiler.py(312): step;train.py(54): <module>"
    );
    assert_eq!(trace.threads.len(), 1);
    assert_eq!((trace.threads[0].pid, trace.threads[0].tid), (25738, 25738));
    assert_eq!(trace.names.get(trace.threads[0].name), "thread 25738 (python)");
    assert_eq!(trace.memory.device, [-1]);
    assert_eq!((trace.memory.bytes[0], trace.memory.total_allocated[0]), (4, -1));
    assert_eq!(trace.streams.iter().map(|s| (s.device, s.number)).collect::<Vec<_>>(), [(0, 7)]);
    let kernel = trace.gpu.get(GpuId(1));
    assert_eq!((kernel.correlation, kernel.external, kernel.blocks, kernel.threads), (34420, 540, 64, 128));
    assert_eq!(trace.gpu.bytes[0], 19_267_584);
    assert_eq!(notes(&trace), [(NoteCode::NoLaunch, 1), (NoteCode::Unused, 4)]);
}

#[test]
fn a_bare_list_with_times_as_text() {
    let trace = read(LIST).expect("readable");
    assert_eq!((trace.host.start[0], trace.host.dur[0]), (1_712_195_495_876_224_800, 4_250));
    assert_eq!((trace.threads[0].pid, trace.threads[0].tid), (2, 3));
    let kernel = trace.gpu.get(GpuId(0));
    assert_eq!((kernel.dur, kernel.blocks, kernel.threads), (15_000, 6, 64));
    assert_eq!((trace.streams[0].device, trace.streams[0].number), (1, 0));
    let sync = trace.syncs[0];
    assert_eq!(trace.names.get(sync.kind), "Stream Wait Event");
    assert_eq!((sync.device, sync.stream, sync.correlation), (1, 7, 11));
    assert_eq!((sync.wait_on_stream, sync.wait_on_record), (Some(20), Some(10)));
    assert_eq!((trace.memory.bytes[0], trace.memory.device[0]), (-512, 1));
    assert_eq!(trace.memory.total_reserved, [2_097_152]);
    assert_eq!(trace.meta.foreign_device.as_deref(), Some("XPU"));
    assert_eq!(notes(&trace), [(NoteCode::Unused, 1), (NoteCode::ForeignDevice, 1)]);
}

#[test]
fn the_header_may_follow_the_events_and_keys_may_repeat() {
    let trace = trace(
        r#"{"traceEvents": [{"dur": 1, "dur": 2, "ts": 3, "name": "a", "cat": "cpu_op", "ph": "X", "tid": 1, "pid": 1}],
            "with_stack": 1, "baseTimeNanoseconds": 5, "traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 4, "dur": 1}]}"#,
    );
    assert_eq!((trace.host.dur.as_slice(), trace.meta.with_stack), (&[2_000, 1_000][..], true));
    assert_eq!(trace.meta.base_unix_ns, 5);
}

#[test]
fn an_empty_list_is_a_trace() {
    let trace = trace(r#"{"schemaVersion": 1, "traceEvents": [] }"#);
    assert_eq!((trace.events, notes(&trace)), (0, vec![]));
}
