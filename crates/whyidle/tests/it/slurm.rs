//! The scripts of `deploy/slurm/`, run as Slurm runs them, with stand-ins for `scontrol`, `squeue` and `runuser`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use whyidle_experiment::history::History;

use crate::support::{LANGUAGES, Run, root};
use crate::watching::eventually;

#[path = "../../../whyidle-experiment/tests/support/judged.rs"]
mod kept;

use kept::{S, judged};

const JOB: &str = "4711";

/// A node of a cluster.
struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let node = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(node.at("bin")).unwrap();
        node.script(
            "bin/scontrol",
            "case \"$1 $2\" in\n'listpids 4711') printf 'PID JOBID STEPID LOCALID GLOBALID\\n%s 4711 batch 0 0\\n-1 4711 0 - -\\n' \"$JOB_PID\" ;;\n\
             'show job') printf 'JobId=4711 JobName=train\\n   UserId=ada(1000) TresPerNode=%s\\n   BatchHost=node-1\\n   StdOut=%s\\n' \"$GRES\" \"$STDOUT_FILE\" ;;\nesac",
        );
        node.script("bin/squeue", "exit 0");
        // Says as whom it runs, and runs.
        node.script(
            "bin/runuser",
            "echo \"$1 $2\" >> \"$SEEN\"; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"",
        );
        node
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn script(&self, name: &str, body: &str) {
        fs::write(self.at(name), format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// A script of Slurm's with settings for this node, in the environment that Slurm gives it: a short one.
    fn slurm(&self, script: &str, whyidle: &Path, more: &[(&str, &str)]) -> Run {
        let folder = self.at("etc");
        fs::create_dir_all(&folder).unwrap();
        fs::copy(root().join("deploy/slurm").join(script), folder.join(script)).unwrap();
        let shipped = fs::read_to_string(root().join("deploy/slurm/whyidle.conf")).unwrap();
        let setting = |name: &str| more.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let ours = format!(
            "WHYIDLE={}\nWHYIDLE_SPOOL={}\nWHYIDLE_REPORTS={}\nWHYIDLE_FIRST=0\nWHYIDLE_EVERY=0\nWHYIDLE_LOOKS=2\nWHYIDLE_LANG={}\n",
            whyidle.display(),
            self.at("spool").display(),
            self.at("reports").display(),
            setting("WHYIDLE_LANG").unwrap_or("en"),
        );
        fs::write(folder.join("whyidle.conf"), shipped + &ours).unwrap();
        let path = format!("{}:/usr/bin:/bin", self.at("bin").display());
        let mut command = Command::new(folder.join(script));
        command.env_clear().env("PATH", path).stdin(Stdio::null()).current_dir("/");
        // No job can have a program of its own run.
        command.env("WHYIDLE", "/bin/false").env("WHYIDLE_SPOOL", "/nowhere");
        command
            .env("SEEN", self.at("seen"))
            .env("STDOUT_FILE", self.at("slurm.out"))
            .env("GRES", "gres:gpu:8");
        command.env("JOB_PID", std::process::id().to_string());
        command.env("SLURM_JOB_ID", JOB).env("SLURM_JOB_USER", "ada").env("SLURMD_NODENAME", "node-1");
        command.envs(more.iter().copied()).output().unwrap().into()
    }
}

fn quiet(run: &Run) {
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (Some(0), "", ""));
}

#[test]
fn the_prolog_looks_at_the_jobs_processes_now_and_then() {
    let node = Node::new();
    node.script("whyidle", "echo \"$XDG_DATA_HOME $WHYIDLE_JOB $*\" >> \"$SEEN\"");
    quiet(&node.slurm("prolog.sh", &node.at("whyidle"), &[]));
    let spool = node.at("spool/4711");
    let look = format!("{} {JOB} attach {} --for 60s\n", spool.display(), std::process::id());
    eventually("two looks", || node.read("seen") == look.repeat(2));
    eventually("and then no more", || !spool.join("pid").exists());
    assert_eq!(fs::metadata(&spool).unwrap().permissions().mode() & 0o777, 0o700, "for root alone");
}

#[test]
fn the_prolog_leaves_jobs_alone_that_are_none_of_its_business() {
    let node = Node::new();
    node.script("whyidle", "echo looked >> \"$SEEN\"");
    let whyidle = node.at("whyidle");
    for more in [
        ("SLURM_JOB_ID", ""),
        ("SLURM_JOB_ID", "../../etc"),
        ("SLURM_JOB_ID", "12;reboot"),
        ("GRES", "(null)"),
    ] {
        quiet(&node.slurm("prolog.sh", &whyidle, &[more]));
        quiet(&node.slurm("epilog.sh", &whyidle, &[more]));
    }
    quiet(&node.slurm("prolog.sh", Path::new("/nowhere/whyidle"), &[]));
    assert!(!node.at("spool").exists() && node.read("seen").is_empty());
}

/// What the epilog writes is what `whyidle history --job` says: busy, waiting for, waste, the one change.
#[test]
fn the_epilog_reports_to_the_administrators_and_to_the_user() {
    for lang in LANGUAGES {
        let node = Node::new();
        let path = node.at("spool/4711/whyidle/history.db");
        let mut history = History::open(&path).unwrap().of(Some(JOB.to_owned()));
        history
            .add_verdict(&judged(1_796_000_000 * S, 60, 8, 0.31, "data.workers", Some(58_000_000)))
            .unwrap();
        history
            .add_verdict(&judged(1_796_003_600 * S, 60, 8, 0.33, "data.workers", Some(58_000_000)))
            .unwrap();
        drop(history);
        fs::write(node.at("slurm.out"), "epoch 1\n").unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_whyidle"));
        quiet(&node.slurm("epilog.sh", program, &[("WHYIDLE_LANG", lang)]));
        let report = node.read("reports/4711.node-1.txt");
        let said = match lang {
            "zh" => ["作业 4711", "32%", "等数据", "GPU 小时", "DataLoader"],
            _ => ["job 4711", "32 %", "waiting for data", "GPU-hours", "Give the DataLoader more workers"],
        };
        for said in said {
            assert!(report.contains(said), "{said} is not in\n{report}");
        }
        assert_eq!(node.read("slurm.out"), format!("epoch 1\n\n{report}"), "the job's own output");
        assert_eq!(node.read("seen"), "-u ada\n", "written as the user");
        assert!(!node.at("spool/4711").exists(), "nothing is left");
    }
}

#[test]
fn the_epilog_writes_where_it_should_and_nowhere_else() {
    let program = Path::new(env!("CARGO_BIN_EXE_whyidle"));
    // Of a job that nothing was seen of, another node's part, and root's own jobs: no line in the job's output.
    for (seen, more) in [
        (false, ("SLURM_JOB_USER", "ada")),
        (true, ("SLURMD_NODENAME", "node-2")),
        (true, ("SLURM_JOB_USER", "root")),
        (true, ("STDOUT_FILE", "/dev/null")),
    ] {
        let node = Node::new();
        fs::create_dir_all(node.at("spool/4711")).unwrap();
        if seen {
            let path = node.at("spool/4711/whyidle/history.db");
            let mut history = History::open(&path).unwrap().of(Some(JOB.to_owned()));
            history.add_verdict(&judged(S, 60, 1, 0.5, "host.sync", None)).unwrap();
        }
        fs::write(node.at("slurm.out"), "").unwrap();
        quiet(&node.slurm("epilog.sh", program, &[more]));
        assert_eq!((node.read("slurm.out"), node.read("seen")), (String::new(), String::new()), "{more:?}");
        assert_eq!(node.at("reports").exists(), seen, "{more:?}");
        assert!(!node.at("spool/4711").exists());
    }
}

/// A look that is under way when the job ends is ended with it; a process that has the number since is not.
#[test]
fn the_epilog_ends_the_looking_and_nothing_else() {
    let node = Node::new();
    node.script("whyidle", "[ \"$1\" = attach ] && echo $$ >> \"$SEEN\" && exec sleep 600");
    let whyidle = node.at("whyidle");
    quiet(&node.slurm("prolog.sh", &whyidle, &[]));
    eventually("a look", || node.read("seen").ends_with('\n'));
    let look: u32 = node.read("seen").trim().parse().unwrap();
    quiet(&node.slurm("epilog.sh", &whyidle, &[]));
    eventually("the look is over", || {
        fs::read_to_string(format!("/proc/{look}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
    let mut other = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    fs::create_dir_all(node.at("spool/4711")).unwrap();
    fs::write(node.at("spool/4711/pid"), other.id().to_string()).unwrap();
    quiet(&node.slurm("epilog.sh", &whyidle, &[]));
    assert_eq!(other.try_wait().unwrap(), None, "another process was ended");
    other.kill().unwrap();
    other.wait().unwrap();
}
