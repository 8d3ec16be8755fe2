//! The function and the valid inputs of each reader.

mod data_sets;
mod events;
mod experiments;
mod graphs;
mod nir;

use crate::Target;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use spikelet::data::download::unpack_archive;
use spikelet::data::{Dataset, Files, InMemory, cifar10, idx};
use spikelet::distributed::{Address, Role, Secret, fuzzing};
use spikelet::graph::{Backend, Tensor};
use spikelet::log::jsonl::{self, JsonLines};
use spikelet::log::tensorboard::SummaryWriter;
use spikelet::network::Network;
use spikelet::runtime::VarStore;
use spikelet::tensors::TensorFile;
use spikelet::train::checkpoint::{DatasetId, Progress, RunDefinition};
use spikelet::train::{Checkpoint, Settings, evaluate};
use spikelet::{MemoryBudget, encoder, neuron, recipes, surrogate};
use spikelet_cpu::Cpu;
use spikelet_cuda::kernel_files;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub const ALL: [Target; 25] = [
    Target {
        name: "idx",
        corpus: idx_corpus,
        run: idx_file,
    },
    Target {
        name: "cifar10",
        corpus: cifar10_corpus,
        run: cifar10_file,
    },
    Target {
        name: "checkpoint",
        corpus: checkpoint_corpus,
        run: checkpoint,
    },
    Target {
        name: "json_lines",
        corpus: json_lines_corpus,
        run: json_lines,
    },
    Target {
        name: "tensorboard",
        corpus: tensorboard_corpus,
        run: tensorboard,
    },
    Target {
        name: "environment",
        corpus: environment_corpus,
        run: environment,
    },
    Target {
        name: "texts",
        corpus: texts_corpus,
        run: texts,
    },
    Target {
        name: "specs",
        corpus: specs_corpus,
        run: specs,
    },
    Target {
        name: "neuron_case",
        corpus: neuron_case_corpus,
        run: neuron_case,
    },
    Target {
        name: "handshake",
        corpus: handshake_corpus,
        run: handshake,
    },
    Target {
        name: "kernel_file",
        corpus: kernel_file_corpus,
        run: kernel_file,
    },
    Target {
        name: "archive",
        corpus: archive_corpus,
        run: archive,
    },
    Target {
        name: "experiment",
        corpus: experiments::corpus,
        run: experiments::run,
    },
    Target {
        name: "npy",
        corpus: data_sets::npy_corpus,
        run: data_sets::npy,
    },
    Target {
        name: "npz",
        corpus: data_sets::npz_corpus,
        run: data_sets::npz,
    },
    Target {
        name: "safetensors",
        corpus: data_sets::safetensors_corpus,
        run: data_sets::safetensors,
    },
    Target {
        name: "csv",
        corpus: data_sets::csv_corpus,
        run: data_sets::csv,
    },
    Target {
        name: "png",
        corpus: data_sets::png_corpus,
        run: data_sets::png,
    },
    Target {
        name: "jpeg",
        corpus: data_sets::jpeg_corpus,
        run: data_sets::jpeg,
    },
    Target {
        name: "event_file",
        corpus: events::file_corpus,
        run: events::file,
    },
    Target {
        name: "event_pack",
        corpus: events::pack_corpus,
        run: events::pack,
    },
    Target {
        name: "event_archive",
        corpus: events::archive_corpus,
        run: events::archive,
    },
    Target {
        name: "nir_graph",
        corpus: nir::graph_corpus,
        run: nir::graph,
    },
    Target {
        name: "weights",
        corpus: nir::weights_corpus,
        run: nir::weights,
    },
    Target {
        name: "graphs",
        corpus: graphs::corpus,
        run: graphs::run_graph,
    },
];

fn written(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the folder can be written");
    path
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("it was written")
}

fn cpu() -> Arc<dyn Backend> {
    static CPU: OnceLock<Arc<dyn Backend>> = OnceLock::new();
    let open = || -> Arc<dyn Backend> { Arc::new(Cpu::new(1).expect("a CPU")) };
    CPU.get_or_init(open).clone()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(vec![], Compression::fast());
    writer.write_all(bytes).expect("memory can be written");
    writer.finish().expect("memory can be written")
}

/// Images and labels, raw and compressed.
fn idx_corpus(_: &Path) -> Vec<Vec<u8>> {
    let sizes = |sizes: &[u32]| -> Vec<u8> { sizes.iter().flat_map(|n| n.to_be_bytes()).collect() };
    let images = [&[0, 0, 8, 3][..], &sizes(&[2, 3, 4]), &[7; 24]].concat();
    let labels = [&[0, 0, 8, 1][..], &sizes(&[5]), &[1, 2, 3, 4, 0]].concat();
    vec![gzip(&images), gzip(&labels), images, labels]
}

fn idx_file(bytes: &[u8], folder: &Path) {
    // Errors are expected, here and below.
    let _ = idx::parse::<3>(bytes);
    let _ = idx::parse::<1>(bytes);
    let path = written(folder, "idx", bytes);
    let _ = idx::read_images(&path);
    let _ = idx::read_labels(&path, 10);
}

const RECORD: usize = 1 + 3 * 32 * 32;

fn cifar10_corpus(_: &Path) -> Vec<Vec<u8>> {
    vec![[vec![3; RECORD], vec![9; RECORD]].concat()]
}

fn cifar10_file(bytes: &[u8], folder: &Path) {
    let mut source = cifar10::source();
    source.folders = vec![String::new()];
    if let Files::Records(files) = &mut source.files {
        files.train = vec!["train.bin".to_string()];
        files.test = "test.bin".to_string();
        files.extra = vec![];
        files.records = 2;
    }
    written(folder, "train.bin", bytes);
    written(folder, "test.bin", &cifar10_corpus(folder)[0]);
    let _ = source.load(folder);
}

/// The header and the tensors of a safetensors file, separated by a zero instead of preceded by the length of the
/// header, so that the length of the header can change. Its keys are sorted, so that the corpus is constant.
fn apart(file: &[u8]) -> Vec<u8> {
    let (length, rest) = file.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
    let (header, tensors) = rest.split_at(length);
    let header: Value = serde_json::from_slice(header).expect("a header is JSON");
    [header.to_string().as_bytes(), &[0], tensors].concat()
}

fn together(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|&byte| byte == 0);
    match end.filter(|_| bytes.starts_with(b"{")) {
        Some(end) => {
            let length = (end as u64).to_le_bytes();
            [&length[..], &bytes[..end], &bytes[end + 1..]].concat()
        }
        None => bytes.to_vec(),
    }
}

fn network() -> Network {
    let options = [("inputs", 28.into()), ("hidden", 4.into())];
    Network::model("mnist-fc", options).expect("it is sound")
}

fn settings() -> Settings {
    Settings {
        batch_size: 2,
        time_steps: 3,
        ..Settings::default()
    }
}

/// Channels, height and width of the images.
const STRIPES: [usize; 3] = [1, 1, 28];

fn images() -> &'static Arc<dyn Dataset> {
    static IMAGES: OnceLock<Arc<dyn Dataset>> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let classes = (0..10).map(|class| class.to_string()).collect();
        let images = (0..28 * 3).map(|pixel| pixel * 3).collect();
        let data = InMemory::images("stripes", images, vec![0, 5, 9], STRIPES, classes);
        Arc::new(data.expect("three images"))
    })
}

fn checkpoint_corpus(folder: &Path) -> Vec<Vec<u8>> {
    let weights = |n: usize| -> Vec<f32> { (0..n).map(|k| (k % 7) as f32 * 0.1 - 0.2).collect() };
    let tensors = [
        ("fc.1.weight", Tensor::f32([4, 28], weights(112))),
        ("fc.3.weight", Tensor::f32([10, 4], weights(40))),
    ];
    let mut store = VarStore::new(cpu());
    for (name, tensor) in &tensors {
        store.insert(name, tensor).expect("a small tensor");
    }
    let settings = Settings {
        batch_size: 1,
        ..settings()
    };
    let progress = Progress {
        ranks: 1,
        ..Progress::default()
    };
    let dataset = DatasetId {
        name: "stripes".to_string(),
        train_samples: 3,
        validation_samples: 0,
        test_samples: 3,
        sha256: String::new(),
        classes: vec![],
        folder: None,
    };
    let names = tensors.iter().map(|(name, _)| (*name).to_string());
    let definition = RunDefinition::of_classifier(Some(network()), settings);
    let taken = Checkpoint::take(&store, names, &definition, &progress, &dataset);
    let checkpoint = taken.expect("a checkpoint");
    let path = folder.join("checkpoint");
    checkpoint.write(&path).expect("the folder can be written");
    let apart = apart(&read(&path));
    vec![together(&apart), apart]
}

/// Whether the sizes in a file are small. Larger ones are valid and are not tested here.
fn is_small(checkpoint: &Checkpoint) -> bool {
    let Some(Network::Model(net)) = checkpoint.network() else {
        return false;
    };
    let Ok(settings) = checkpoint.settings() else {
        return false;
    };
    let sizes = ["inputs", "hidden", "classes"].map(|option| net.values()[option].as_u64());
    let small = |size: &Option<u64>| size.is_some_and(|size| size <= 64);
    net.name() == "mnist-fc" && sizes.iter().all(small) && settings.time_steps <= 64
}

fn checkpoint(bytes: &[u8], folder: &Path) {
    let path = written(folder, "checkpoint", &together(bytes));
    let Ok(checkpoint) = Checkpoint::read(&path) else {
        return;
    };
    let network = checkpoint.network().filter(|_| is_small(&checkpoint));
    let (Some(network), Ok(settings)) = (network, checkpoint.settings()) else {
        return;
    };
    let Ok(module) = network.module() else {
        return;
    };
    let mut store = VarStore::new(cpu());
    let restored = checkpoint.restore(&*module, STRIPES, &mut store);
    if restored.is_ok() {
        let _ = evaluate(&*module, settings, images(), &mut store);
    }
}

fn json_lines_corpus(folder: &Path) -> Vec<Vec<u8>> {
    let path = folder.join("lines");
    let mut lines = JsonLines::create(&path).expect("the folder can be written");
    for epoch in 1..6 {
        let line = json!({"epoch": epoch, "train_loss": 0.5, "name": "\u{e9}\n"});
        lines.append(&line).expect("the folder can be written");
    }
    vec![read(&path)]
}

fn json_lines(bytes: &[u8], folder: &Path) {
    let path = written(folder, "lines", bytes);
    let _ = jsonl::read::<Value>(&path);
    if let Ok(mut lines) = JsonLines::resume(&path, "epoch", 3) {
        let _ = lines.append(&json!({"epoch": 4}));
    }
}

const EVENTS: &str = "events.out.tfevents.0000000001.0.spikelet";

fn tensorboard_corpus(folder: &Path) -> Vec<Vec<u8>> {
    let folder = folder.join("curves-corpus");
    let mut curves = SummaryWriter::create(&folder).expect("the folder can be written");
    for step in 1..5 {
        let added = curves.add_scalar("step/loss", step, 0.5);
        added.expect("the folder can be written");
        let added = curves.add_histogram("weights", step, &[0.5, -1.0]);
        added.expect("the folder can be written");
    }
    curves.flush().expect("the folder can be written");
    vec![read(curves.path())]
}

fn tensorboard(bytes: &[u8], folder: &Path) {
    let folder = folder.join("curves");
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    written(&folder, EVENTS, bytes);
    if let Ok(mut curves) = SummaryWriter::resume(&folder, 2) {
        let _ = curves.add_scalar("step/loss", 3, 0.5);
    }
}

fn environment_corpus(_: &Path) -> Vec<Vec<u8>> {
    let torchrun = "RANK=3\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=10.0.0.1\n\
                    MASTER_PORT=29500\nTORCHELASTIC_USE_AGENT_STORE=True\n\
                    SPIKELET_RENDEZVOUS_SECRET=0123456789abcdef";
    let srun = "SLURM_PROCID=2\nSLURM_NTASKS=8\nSLURM_LOCALID=2\n\
                SLURM_JOB_NODELIST=node[01-03,7],other\nSLURM_JOB_ID=123456\nSLURM_STEP_ID=0\n\
                SLURM_NTASKS_PER_NODE=2(x3)";
    let mpirun = "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK=1\n\
                  MASTER_ADDR=[fe80::1]\nMASTER_PORT=65535";
    [torchrun, srun, mpirun].map(Vec::from).into()
}

fn environment(bytes: &[u8], _: &Path) {
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let variables: BTreeMap<&str, &str> = pairs.collect();
    let variable = |name: &str| variables.get(name).map(|value| (*value).to_string());
    let _ = Role::from_variables(None, None, &variable);
    if let Ok(Role::Rank(world)) = Role::from_variables(Some(4), None, &variable) {
        assert!(world.rank < world.size);
        let _ = world.check_secret();
    }
}

fn texts_corpus(_: &Path) -> Vec<Vec<u8>> {
    let texts = [
        "node01:29500",
        "[fe80::1]:29500",
        "400MiB",
        "1.5GB",
        "0.5",
        "poisson",
        "weighted_phase:k=4",
        "population:encoder=poisson",
        "lif",
        "atan",
        "cifar10-net",
        "0123456789abcdef0123456789abcdef",
    ];
    let recipes = recipes::all().iter().map(|recipe| recipe.text);
    texts.into_iter().chain(recipes).map(Vec::from).collect()
}

fn texts(bytes: &[u8], _: &Path) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(address) = text.parse::<Address>() {
        let again = address.to_string().parse::<Address>();
        assert_eq!(again.ok(), Some(address));
    }
    if let Ok(budget) = text.parse::<MemoryBudget>() {
        let _ = (budget.bytes(1 << 30), budget.to_string());
    }
    let _ = text.parse::<Secret>();
    let _ = encoder::parse(&text);
    let _ = (
        neuron::NEURONS.find(&text),
        surrogate::SURROGATES.find(&text),
    );
    let _ = Network::find(&text);
    let _ = Network::from_toml("net.toml", &text, &["training"]);
}

fn specs_corpus(_: &Path) -> Vec<Vec<u8>> {
    let of = |value: Value| value.to_string().into_bytes();
    let mut corpus: Vec<Vec<u8>> = vec![of(json!(network()))];
    for name in Network::SMALL {
        let network = Network::find(name).expect("it is known");
        corpus.push(of(json!(network)));
        corpus.extend(network.layers().map(|layers| of(json!(layers))));
    }
    for params in [
        json!({"neuron": "lif", "params": {"tau": 4.0, "v_reset": null}, "surrogate": "atan"}),
        json!({"neuron": "plif", "params": {"init_tau": 3.0, "granularity": "channel"}}),
        json!({"neuron": "sliding_psn", "params": {"k": 2}}),
        json!({"neuron": "if", "surrogate": {"name": "sigmoid", "alpha": 2.0}}),
        json!({"name": "poisson"}),
    ] {
        corpus.push(of(params));
    }
    corpus
}

fn specs(bytes: &[u8], _: &Path) {
    let Ok(spec) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let _ = neuron::from_spec(&spec);
    let _ = surrogate::from_spec(&spec);
    let _ = encoder::from_spec(&spec);
    let _ = serde_json::from_value::<Settings>(spec.clone()).map(|settings| settings.check());
    if let Ok(network) = serde_json::from_value::<Network>(spec) {
        let _ = network.module();
    }
}

fn neuron_case_corpus(folder: &Path) -> Vec<Vec<u8>> {
    let specs = [
        json!({"neuron": "lif", "params": {"tau": 2.0}, "surrogate": "sigmoid"}),
        json!({"neuron": "plif", "params": {"init_tau": 2.0}, "surrogate": "atan"}),
        json!({"neuron": "sliding_psn", "params": {"k": 2}, "surrogate": "atan"}),
        json!({"neuron": "izhikevich", "surrogate": "sigmoid"}),
    ];
    let write = |spec: Value| {
        let sequence = || Tensor::f32([3, 2], [0.5, 1.5, -0.5, 0.25, 1.0, 0.75]);
        let tensors = ["x_seq", "grad_spike_seq", "grad_v_seq"];
        let mut tensors: BTreeMap<String, Tensor> =
            tensors.map(|name| (name.to_string(), sequence())).into();
        tensors.insert("v_init".to_string(), Tensor::f32([2], [0.0, 0.25]));
        let case = TensorFile {
            tensors,
            metadata: BTreeMap::from([("spec".to_string(), spec.to_string())]),
        };
        let path = folder.join("case");
        case.write(&path).expect("the folder can be written");
        apart(&read(&path))
    };
    specs.map(write).into()
}

fn neuron_case(bytes: &[u8], folder: &Path) {
    let path = written(folder, "case", &together(bytes));
    if let Ok(case) = TensorFile::read(&path) {
        let _ = neuron::run_case(&case, &path, cpu());
    }
}

fn handshake_corpus(_: &Path) -> Vec<Vec<u8>> {
    vec![fuzzing::valid_handshake()]
}

fn handshake(bytes: &[u8], _: &Path) {
    fuzzing::handshake(bytes);
}

fn kernel_file_corpus(folder: &Path) -> Vec<Vec<u8>> {
    let cache = folder.join("kernels-corpus");
    let path = kernel_files::write(&cache, b"the code of a kernel");
    vec![read(&path)]
}

fn kernel_file(bytes: &[u8], folder: &Path) {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let cache = folder.join("kernels");
    let path = PATH.get_or_init(|| kernel_files::write(&cache, b"code"));
    std::fs::write(path, bytes).expect("the folder can be written");
    let _ = kernel_files::read(&cache);
}

fn archive_corpus(_: &Path) -> Vec<Vec<u8>> {
    let mut archive = tar::Builder::new(vec![]);
    for name in ["folder/wanted.bin", "other.txt"] {
        let mut header = tar::Header::new_gnu();
        header.set_size(5);
        header.set_mode(0o644);
        let added = archive.append_data(&mut header, name, &b"bytes"[..]);
        added.expect("memory can be written");
    }
    vec![archive.into_inner().expect("memory can be written")]
}

fn archive(bytes: &[u8], folder: &Path) {
    let inside = folder.join("archive/inside");
    std::fs::create_dir_all(&inside).expect("the folder can be written");
    let wanted = ["wanted.bin".to_string()];
    for bytes in [bytes, &gzip(bytes)] {
        let _ = unpack_archive(bytes, &wanted, &inside);
    }
    // No other file may be written.
    for (folder, expected) in [(folder.join("archive"), "inside"), (inside, "wanted.bin")] {
        let found = std::fs::read_dir(folder).expect("a folder");
        for file in found.flatten() {
            assert_eq!(file.file_name(), expected);
        }
    }
}
