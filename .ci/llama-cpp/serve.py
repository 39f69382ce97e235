"""Starts the server of llama.cpp for one model: serve.py FILE NAME PORT CONTEXT.
Prints its address when it answers."""

import signal
import sys

import xllamacpp

file, name, port, context = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = file
params.model_alias = {name}
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(context)
params.n_parallel = 1
params.endpoint_metrics = True
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
