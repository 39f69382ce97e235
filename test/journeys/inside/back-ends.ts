/** Back ends with different HTTP parsers that report what they read. nginx and HAProxy forward to a
 *  recorder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../helpers/free-port.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'

/** One whole request. Text is latin1. */
export interface Reading {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}
export interface BackEnd {
  readonly name: string
  readonly url: string
  /** Returns the requests it has read since the last call. */
  take(): Promise<readonly Reading[]>
  stop(): Promise<unknown>
}

/** Finds a program on this machine. Servers are often outside the PATH of a plain user. */
const find = (program: string): string | undefined =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
    .map(folder => join(folder, program))
    .find(existsSync)

const wholeBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const parts: Buffer[] = []
  try {
    for await (const part of request) parts.push(part)
    return Buffer.concat(parts)
  } catch {
    return undefined // the sender disconnected, so there is no whole request
  }
}
const pairs = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : []))

/** Node's own parser; it also records behind the proxies. */
const startNode = async (name = 'node'): Promise<BackEnd> => {
  const read: Reading[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await wholeBody(request)
    if (body === undefined) return
    const { method = '', url: target = '', rawHeaders } = request
    read.push({ method, target, headers: pairs(rawHeaders), body: body.toString('latin1') })
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ target }))
  }
  const server = createServer({ maxHeaderSize: 1 << 17, keepAliveTimeout: 600_000 }, answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    take: async () => read.splice(0),
    stop: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Our own byte reader, which validates nothing. */
const startOwn = async (): Promise<BackEnd> => {
  const upstream = await startUpstream()
  await upstream.script('missing', [{ do: 'echo' }])
  return {
    name: 'own',
    url: upstream.url,
    take: async () => {
      const heads = await upstream.events('request')
      const bodies = await upstream.events('body')
      await upstream.forget()
      return bodies.flatMap(({ connection, body }, index) => {
        const earlier = bodies.slice(0, index).filter(each => each.connection === connection)
        const head = heads.filter(each => each.connection === connection)[earlier.length]?.head
        if (!body.whole || !head) return []
        const text = Buffer.from(body.bytes).toString('latin1')
        return [{ method: head.method, target: head.target, headers: head.headers, body: text }]
      })
    },
    stop: upstream.stop,
  }
}

const startPython = async (python: string): Promise<BackEnd> => {
  const script = fileURLToPath(new URL('../../fixtures/back-ends/reader.py', import.meta.url))
  const child = startProgram(python, [script])
  const [line] = await once(child.stdout, 'data')
  const [port, reportPort] = JSON.parse(String(line)) as [number, number]
  return {
    name: 'python',
    url: `http://127.0.0.1:${port}`,
    take: async () => (await (await fetch(`http://127.0.0.1:${reportPort}/`)).json()) as Reading[],
    stop: () => stopProgram(child),
  }
}

const waitForListener = async (port: number): Promise<void> => {
  for (let attempts = 500; attempts > 0; attempts--) {
    const socket = connect(port, '127.0.0.1')
    const [isConnected] = await Promise.race([
      once(socket, 'connect').then(() => [true]),
      once(socket, 'close').then(() => [false]),
    ]).catch(() => [false])
    socket.destroy()
    if (isConnected) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`nothing listens at ${port}`)
}
/** Starts a program that ends with this process, however this process ends. */
const startProgram = (program: string, args: readonly string[]) => {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}
const stopProgram = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

interface Proxy {
  readonly config: (port: number, behind: number, folder: string) => string
  readonly args: (file: string, folder: string) => readonly string[]
}
const PROXIES: Readonly<Record<string, Proxy>> = {
  nginx: {
    // Forwards every header that it can parse, and the target unchanged.
    config: (port, behind, folder) => `
daemon off; master_process off; pid ${folder}/pid; error_log stderr emerg;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(each => `${each}_temp_path ${folder}/${each};`).join(' ')}
  server {
    listen 127.0.0.1:${port};
    underscores_in_headers on; ignore_invalid_headers off;
    client_max_body_size 0; large_client_header_buffers 8 64k; keepalive_timeout 600s;
    location / {
      proxy_pass http://127.0.0.1:${behind};
      proxy_http_version 1.1; proxy_next_upstream off;
      proxy_set_header Host $http_host; proxy_set_header Connection "";
    }
  }
}`,
    args: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
  },
  haproxy: {
    config: (port, behind) => `
global
  maxconn 200
  tune.bufsize 131072
  tune.http.maxhdr 1000
defaults
  mode http
  timeout connect 10s
  timeout client 600s
  timeout server 600s
frontend before
  bind 127.0.0.1:${port}
  default_backend behind
backend behind
  server recorder 127.0.0.1:${behind}
`,
    args: file => ['-db', '-q', '-f', file],
  },
}

const startProxy = async (name: string, program: string): Promise<BackEnd> => {
  const proxy = PROXIES[name]
  if (!proxy) throw new Error(`no proxy is called ${name}`)
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${name}-`))
  const recorder = await startNode(name)
  const port = await freePort()
  const file = join(folder, 'config')
  writeFileSync(file, proxy.config(port, Number(new URL(recorder.url).port), folder))
  const child = startProgram(program, proxy.args(file, folder))
  await waitForListener(port)
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    take: recorder.take,
    stop: async () => {
      await stopProgram(child)
      await recorder.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Programs that a machine may not have: `apt-get install nginx haproxy python3`. */
const FOREIGN: Readonly<Record<string, (program: string) => Promise<BackEnd>>> = {
  nginx: program => startProxy('nginx', program),
  haproxy: program => startProxy('haproxy', program),
  python3: startPython,
}

/** Starts our own two, and the foreign ones that are installed. */
export const startBackEnds = async (): Promise<{
  readonly all: readonly BackEnd[]
  readonly missing: readonly string[]
}> => {
  const programs = Object.keys(FOREIGN).map(name => [name, find(name)] as const)
  const foreign = programs.flatMap(([name, program]) => {
    const start = FOREIGN[name]
    return program && start ? [start(program)] : []
  })
  return {
    all: await Promise.all([startNode(), startOwn(), ...foreign]),
    missing: programs.flatMap(([name, program]) => (program ? [] : name)),
  }
}
