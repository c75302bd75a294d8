"""A Dask scheduler that asks for certificates, on 127.0.0.1 with one made for the test."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest

from signalprop import run
from signalprop.montecarlo import Plan

PLAN = Plan(fields=["real"], n=[8], k=[3], samples=64, seed=1)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two certificates that do not know each other: name -> (certificate, key)."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl, which is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    made = {}
    for name in ("ours", "theirs"):
        made[name] = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=signalprop",
             "-out", made[name][0], "-keyout", made[name][1]], check=True, capture_output=True,
        )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def address(certificates):
    """HOST:PORT of a scheduler with one worker, started as docs/runs.md says."""
    pytest.importorskip("distributed")
    certificate, key = certificates["ours"]
    tls = ["--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key]
    with contextlib.ExitStack() as stack:

        def start(*line):
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-m", *line, *tls], stderr=subprocess.PIPE, text=True)
            )
            stack.callback(process.terminate)
            return process

        scheduler = start(
            "distributed.cli.dask_scheduler",
            "--protocol",
            "tls",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
        )
        said = next(line for line in scheduler.stderr if "Scheduler at:" in line)
        found = said.split("tls://")[1].strip()
        worker = start(
            "distributed.cli.dask_worker", f"tls://{found}", "--nthreads", "1", "--no-dashboard", "--no-nanny"
        )
        next(line for line in worker.stderr if "Registered to:" in line)
        yield found


@pytest.fixture
def configure():
    """Set Dask's configuration for the test; the values are those of `names`, in their order."""
    dask = pytest.importorskip("dask")
    names = ("tls.ca-file", "tls.client.cert", "tls.client.key", "require-encryption")
    with contextlib.ExitStack() as stack:

        def configure(*values):
            changes = {f"distributed.comm.{name}": value for name, value in zip(names, values, strict=False)}
            stack.enter_context(dask.config.set(changes))

        yield configure


def draw(executor):
    return run(PLAN, executor=executor, progress=False)


def test_the_table_over_tls_is_that_of_threads(address, certificates, configure):
    certificate, key = certificates["ours"]
    configure(certificate, certificate, key)
    assert draw(f"tls://{address}").equals(draw("threads"))


def test_the_command_takes_its_certificates_from_the_environment(address, certificates, tmp_path):
    certificate, key = certificates["ours"]
    PLAN.save(tmp_path / "plan.toml")
    begin = "DASK_DISTRIBUTED__COMM__TLS__"
    names = {f"{begin}CA_FILE": certificate, f"{begin}CLIENT__CERT": certificate, f"{begin}CLIENT__KEY": key}
    line = [
        sys.executable,
        "-m",
        "signalprop",
        "run",
        "plan.toml",
        "--directory",
        "results",
        "--executor",
        f"tls://{address}",
    ]
    done = subprocess.run(
        line, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **names}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "table.csv").exists()


def test_who_has_no_certificate_or_another_one_is_not_let_in(address, certificates, configure, monkeypatch):
    monkeypatch.setattr("signalprop.montecarlo.executors._SCHEDULER_TIMEOUT", "1s")
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at .* If it speaks TLS, the executor is 'tls://"):
        draw(f"dask://{address}")
    with pytest.raises(
        ValueError, match=r"needs certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_\w+, DASK"
    ):
        draw(f"tls://{address}")
    ours, theirs = certificates["ours"], certificates["theirs"]
    configure(ours[0], *theirs)
    with pytest.raises(ValueError, match="no Dask scheduler answers at"):
        draw(f"tls://{address}")
    configure(theirs[0], *ours)  # we do not know the scheduler
    with pytest.raises(ValueError, match="no Dask scheduler answers at"):
        draw(f"tls://{address}")


def test_files_that_are_not_there_or_no_certificates(configure, tmp_path):
    pytest.importorskip("distributed")
    configure("/nowhere/ca.pem", "/nowhere/cert.pem", "/nowhere/key.pem")
    with pytest.raises(ValueError, match=r"CA_FILE names '/nowhere/ca\.pem', which does not exist"):
        draw("tls://127.0.0.1:1")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate")
    configure(*[str(nonsense)] * 3)
    with pytest.raises(ValueError, match=r"certificates .* cannot be used"):
        draw("tls://127.0.0.1:1")


def test_a_configuration_that_demands_encryption_is_not_broken_by_us(configure):
    pytest.importorskip("distributed")
    configure(None, None, None, True)
    with pytest.raises(ValueError, match=r"encryption required by Dask configuration.*use 'tls://127.0.0.1:1'"):
        draw("dask://127.0.0.1:1")
