"""The unit file, the image and the DaemonSet: checked by what can be had of the tools that read them."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import tempfile

from checks import Skipped, check, ran

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy/systemd/whyidle-agent.service"
DOCKERFILE = ROOT / "deploy/docker/Dockerfile"
DAEMONSET = ROOT / "deploy/kubernetes/daemonset.yaml"
# Exposure as systemd counts it, from 0 to 10: what it says of the unit, and a little room for other versions of it.
MOST_EXPOSED = 25
# The instructions of a Dockerfile that are used.
INSTRUCTIONS = {"FROM", "RUN", "ENV", "WORKDIR", "COPY", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
# The first with AppArmor as a field.
OLDEST_KUBERNETES = "1.30"


def analyze():
    found = shutil.which("systemd-analyze")
    if not found:
        raise Skipped("there is no systemd-analyze")
    return found


def unit_is_sound(program):
    """systemd understands every line. The program of this build stands in for the installed one."""
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / UNIT.name
        unit.write_text(UNIT.read_text().replace("/usr/local/bin/whyidle", str(pathlib.Path(program).resolve())))
        done = subprocess.run([analyze(), "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
        said = [line for line in done.stderr.splitlines() if UNIT.name in line]
        check(done.returncode == 0 and not said, f"{done.returncode}: {done.stderr}")
        wrong = unit.read_text().replace("ProtectClock=yes", "ProtectClok=yes")
        unit.write_text(wrong)
        done = subprocess.run([analyze(), "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
        check("ProtectClok" in done.stderr, "systemd-analyze does not mind a wrong directive")


def unit_is_hardened():
    done = subprocess.run([analyze(), "security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", UNIT],
                          capture_output=True, text=True, timeout=60)
    if "unrecognized option" in done.stderr or "nknown option" in done.stderr:
        raise Skipped("this systemd-analyze cannot look at a file")
    check(done.returncode == 0, f"more exposed than {MOST_EXPOSED / 10}: {done.stdout.splitlines()[-1:]} {done.stderr}")


def every_directive_is_explained():
    """Above each block of directives stands why."""
    block = None
    for line in UNIT.read_text().splitlines():
        if line.startswith("#"):
            block = "explained"
        elif not line.strip():
            block = None
        elif re.match(r"(Protect|Private|Restrict|Capability|Ambient|SystemCall|Device|IPAddress|Memory|CPU)", line):
            check(block, f"nothing explains {line}")


def image_is_sound():
    """Instructions that exist, stages that are defined, and what is copied is in the context."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    stages = set()
    for line in filter(str.strip, text.splitlines()):
        instruction, rest = line.split(maxsplit=1)
        check(instruction in INSTRUCTIONS, f"no instruction {instruction}")
        if instruction == "FROM" and " AS " in rest:
            stages.add(rest.split(" AS ")[1])
        source = re.match(r"--from=(\S+)", rest)
        check(not source or source[1] in stages, f"no stage {rest}")
    check(text.splitlines()[-1].startswith("CMD") or "ENTRYPOINT" in text, "nothing is run")
    ignored = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text()
    for kept in re.findall(r"^!(\S+)", ignored, re.MULTILINE):
        check((ROOT / kept).exists(), f"{kept} is not there")
    profile = re.search(r"build --locked --profile (\w+)", text)[1]
    check(f"[profile.{profile}]" in (ROOT / "Cargo.toml").read_text(), f"no profile {profile}")
    version = re.search(r'rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text())[1]
    check(f"--default-toolchain {version}" in text, f"the image's Rust is not {version}")


def image_is_checked():
    """Docker's own look at the file, where Docker and its builder are."""
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "buildx", "version"], capture_output=True).returncode != 0:
        raise Skipped("no docker with a builder: the image stays an untested example")
    done = subprocess.run([docker, "build", "--check", "-f", DOCKERFILE, ROOT], capture_output=True, text=True, timeout=60)
    if "Cannot connect" in done.stderr or "no such host" in done.stderr:
        raise Skipped("docker does not run here: the image stays an untested example")
    check(done.returncode == 0, done.stdout + done.stderr)


def documents():
    if not importlib.util.find_spec("kubernetes_validate"):
        raise Skipped("this Python has no kubernetes-validate (requirements-test.txt)")
    import yaml
    return list(yaml.safe_load_all(DAEMONSET.read_text()))


def daemonset_keeps_the_schema():
    """Every document is what the published schemas of Kubernetes ask for, with no field that they do not know."""
    found = documents()
    import kubernetes_validate
    versions = [OLDEST_KUBERNETES, kubernetes_validate.latest_version()]
    for version in versions:
        for document in found:
            kubernetes_validate.validate(document, version, strict=True)
    broken = documents()[2]
    broken["spec"]["template"]["spec"]["hostPid"] = True
    try:
        kubernetes_validate.validate(broken, versions[0], strict=True)
    except kubernetes_validate.ValidationError:
        return
    check(False, "a field that does not exist is not minded")


def daemonset_asks_for_little():
    """One capability, nothing privileged, a read-only root, limits; and nothing that the header does not explain."""
    daemonset = next(document for document in documents() if document["kind"] == "DaemonSet")
    pod = daemonset["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    security = container["securityContext"]
    check(security["capabilities"] == {"drop": ["ALL"], "add": ["SYS_PTRACE"]}, f"{security}")
    check(not security["privileged"] and not security["allowPrivilegeEscalation"], f"{security}")
    check(security["readOnlyRootFilesystem"] and "hostNetwork" not in pod and "hostIPC" not in pod, f"{pod}")
    check(pod["automountServiceAccountToken"] is False and {"cpu", "memory"} <= set(container["resources"]["limits"]), "")
    check("nvidia.com/gpu" not in container["resources"]["limits"], "it takes a GPU from somebody")
    header = DAEMONSET.read_text().split("apiVersion")[0]
    for asked in ["hostPID", "SYS_PTRACE", "user 0", "AppArmor", "runtimeClassName", "read-only root"]:
        check(asked in header, f"{asked} is not explained")


def options_exist(program):
    """Whatever the manifests tell the agent to do, it knows."""
    done = subprocess.run([program, "agent", "--help"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skipped("this program has no `whyidle agent`")
    for path in [UNIT, DOCKERFILE, DAEMONSET]:
        text = path.read_text()
        for option in re.findall(r"(?:agent[\"',]? ?|^#? +|- |\"|, )(--(?:listen|ring|tls-[a-z]+|token-[a-z]+))", text, re.MULTILINE):
            check(re.search(rf"{option}\b", done.stdout), f"{path.name}: the agent has no {option}")


def run(report, program):
    report.run("systemd understands the unit", unit_is_sound, program)
    report.run("the unit is hardened, as systemd counts it", unit_is_hardened)
    report.run("the unit explains what it asks for", every_directive_is_explained)
    report.run("the Dockerfile is sound", image_is_sound)
    report.run("docker build --check", image_is_checked)
    report.run("the DaemonSet keeps the schema of Kubernetes", daemonset_keeps_the_schema)
    report.run("the DaemonSet asks for little", daemonset_asks_for_little)
    report.run("the agent knows the options of the manifests", options_exist, program)
