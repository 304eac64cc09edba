//! Where a process runs: whose it is, in which Slurm job, Kubernetes pod or container, as which rank.
//!
//! Read once for each process, from its control groups and from the few variables named here: nothing else of an
//! environment is looked at. All of it is the process's own word, and is cut to a length that a label may have.

use std::collections::BTreeMap;
use std::fs;

use procfs::process::Process;
use whyidle_model::is_hidden;

use crate::rooted::read_inside;
use crate::tree::variables_of;

/// Variables that are read.
const VARIABLES: [&str; 16] = [
    "SLURM_JOB_ID",
    "SLURM_JOBID",
    "SLURM_PROCID",
    "SLURM_JOB_USER",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "POD_NAME",
    "POD_NAMESPACE",
    "K8S_POD_NAME",
    "K8S_NAMESPACE",
    "MY_POD_NAME",
    "MY_POD_NAMESPACE",
    "KUBERNETES_NAMESPACE",
    "HOSTNAME",
    "OMPI_COMM_WORLD_RANK",
];
/// Characters that are kept of a word.
const LONGEST: usize = 128;
/// Bytes of a control-group file that are read.
const MOST_BYTES: usize = 16 << 10;

/// Where a process runs. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of its user, or the number.
    pub user: Option<String>,
    /// Slurm job.
    pub slurm_job: Option<String>,
    /// Kubernetes namespace.
    pub namespace: Option<String>,
    /// Kubernetes pod: its name, or its uid where the name is not known.
    pub pod: Option<String>,
    /// Container, its whole id.
    pub container: Option<String>,
    /// Its number among all ranks of the job.
    pub rank: Option<u32>,
}

/// Where process `pid` runs.
#[must_use]
pub fn place(pid: u32) -> Place {
    let groups = fs::read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let groups = String::from_utf8_lossy(&groups[..groups.len().min(MOST_BYTES)]).into_owned();
    let variables = variables_of(pid, |name| VARIABLES.contains(&name));
    let namespace =
        || read_inside(pid, "/var/run/secrets/kubernetes.io/serviceaccount/namespace", 256, false);
    let user = owner(pid).map(|uid| user_name(uid).unwrap_or_else(|| uid.to_string()));
    Place { user: user.and_then(|user| word(&user)), ..placed(&groups, &variables, namespace) }
}

/// What control groups and variables say.
fn placed(
    groups: &str,
    variables: &BTreeMap<String, String>,
    namespace_file: impl Fn() -> Option<String>,
) -> Place {
    let first = |names: &[&str]| names.iter().find_map(|name| word(variables.get(*name)?));
    let number = |name: &str| variables.get(name)?.trim().parse::<u32>().ok();
    let parts = || groups.lines().flat_map(|line| line.rsplit(':').next().unwrap_or_default().split('/'));
    let job_of_group = || {
        groups
            .contains("slurm")
            .then(|| parts().find_map(|part| digits(part.strip_prefix("job_")?)))
            .flatten()
    };
    let in_pod = groups.contains("kubepods");
    let pod_uid = parts().find_map(pod_uid);
    let pod = || first(&["POD_NAME", "K8S_POD_NAME", "MY_POD_NAME"]).or_else(|| first(&["HOSTNAME"]));
    let namespace = || {
        let names = ["POD_NAMESPACE", "K8S_NAMESPACE", "MY_POD_NAMESPACE", "KUBERNETES_NAMESPACE"];
        first(&names).or_else(|| word(&namespace_file()?))
    };
    Place {
        user: None,
        slurm_job: first(&["SLURM_JOB_ID", "SLURM_JOBID"]).or_else(job_of_group),
        namespace: in_pod.then(namespace).flatten(),
        pod: in_pod.then(|| pod().or(pod_uid)).flatten(),
        container: parts().find_map(container_id),
        rank: number("RANK").or_else(|| number("SLURM_PROCID")).or_else(|| number("OMPI_COMM_WORLD_RANK")),
    }
}

fn digits(text: &str) -> Option<String> {
    (!text.is_empty() && text.len() < 20 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.to_owned())
}

/// `pod1234…`, `kubepods-burstable-pod1234_….slice`: the uid, with dashes.
fn pod_uid(part: &str) -> Option<String> {
    let at = part
        .find("pod")
        .filter(|_| part.starts_with("pod"))
        .or_else(|| part.rfind("-pod").map(|at| at + 1))?;
    let uid = part[at + 3..].trim_end_matches(".slice").replace('_', "-");
    let fits = uid.len() >= 32
        && uid.len() <= 36
        && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    fits.then_some(uid)
}

/// `docker-<id>.scope`, `cri-containerd-<id>.scope`, `<id>`: 64 digits of the id.
fn container_id(part: &str) -> Option<String> {
    let id = part.trim_end_matches(".scope").rsplit('-').next()?;
    (id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}

/// A word that somebody else chose: without what steers terminals, and not too long.
fn word(text: &str) -> Option<String> {
    let word: String = text.trim().chars().filter(|c| !is_hidden(*c)).take(LONGEST).collect();
    (!word.is_empty()).then_some(word)
}

/// The user that a process runs as.
#[must_use]
pub fn owner(pid: u32) -> Option<u32> {
    Process::new(i32::try_from(pid).ok()?).ok()?.uid().ok()
}

fn user_name(uid: u32) -> Option<String> {
    let all = fs::read_to_string("/etc/passwd").ok()?;
    let wanted = uid.to_string();
    all.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == wanted).then(|| name.to_owned())
    })
}

/// This process may look into those of other users.
#[must_use]
pub(crate) fn may_look_at_others() -> bool {
    /// Bit of `CAP_SYS_PTRACE` in a capability set.
    const SYS_PTRACE: u64 = 1 << 19;
    Process::myself().and_then(|own| own.status()).is_ok_and(|own| own.capeff & SYS_PTRACE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(groups: &str, variables: &[(&str, &str)]) -> Place {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        placed(groups, &variables, || Some("team-a\n".to_owned()))
    }

    const ID: &str = "4f1c0de5b2a94f1c0de5b2a94f1c0de5b2a94f1c0de5b2a94f1c0de5b2a90000";

    #[test]
    fn pods_are_found_under_either_driver_of_control_groups() {
        let uid = "0a1b2c3d-1111-2222-3333-444455556666";
        let systemd = format!(
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-containerd-{ID}.scope\n",
            uid.replace('-', "_")
        );
        let plain = format!("12:memory:/kubepods/besteffort/pod{uid}/{ID}\n0::/\n");
        for groups in [systemd, plain] {
            let found = of(&groups, &[]);
            assert_eq!((found.pod.as_deref(), found.container.as_deref()), (Some(uid), Some(ID)), "{groups}");
            assert_eq!(found.namespace.as_deref(), Some("team-a"));
            let named = of(
                &groups,
                &[("POD_NAME", "train-0"), ("POD_NAMESPACE", "ml"), ("HOSTNAME", "x"), ("RANK", "3")],
            );
            assert_eq!((named.pod.as_deref(), named.namespace.as_deref()), (Some("train-0"), Some("ml")));
            assert_eq!(named.rank, Some(3));
            assert_eq!(of(&groups, &[("HOSTNAME", "train-1")]).pod.as_deref(), Some("train-1"));
        }
    }

    #[test]
    fn slurm_jobs_are_found_by_variable_or_group() {
        let found = of("0::/", &[("SLURM_JOB_ID", "881"), ("SLURM_PROCID", "5"), ("HOSTNAME", "n1")]);
        assert_eq!((found.slurm_job.as_deref(), found.rank, found.pod), (Some("881"), Some(5), None));
        let groups = "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_3";
        assert_eq!(of(groups, &[]).slurm_job.as_deref(), Some("4711"));
        assert_eq!(of("0::/user/job_4711x/slurm", &[]).slurm_job, None);
        assert_eq!(of(&format!("0::/docker/{ID}"), &[]).container.as_deref(), Some(ID));
    }

    #[test]
    fn what_a_process_says_of_itself_is_cut_and_cleaned() {
        let long = "x".repeat(10_000);
        let found =
            of("0::/kubepods/x", &[("SLURM_JOB_ID", "7\u{1b}[2J\n"), ("POD_NAME", &long), ("RANK", "-1")]);
        assert_eq!(found.slurm_job.as_deref(), Some("7[2J"));
        assert_eq!((found.pod.map(|pod| pod.len()), found.rank), (Some(LONGEST), None));
        assert_eq!(of("\u{0}::::/pod/job_/\n:", &[]), Place::default());
    }

    #[test]
    fn the_own_process_has_a_user() {
        assert!(place(std::process::id()).user.is_some());
        assert_eq!(place(u32::MAX), Place::default());
    }
}
