/** Other proxies and gateways as subjects of the bench, where they are installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.ts'
import { NAMES, requestBody } from './answers.ts'
import { PATH } from './gateway.ts'
import { pin } from './processes.ts'
import type { Subject } from './tables.ts'

const KEY = 'sk-upstream-0123456789abcdef'

interface Ports {
  readonly own: number
  readonly upstream: number
}
interface Peer {
  /** The program, if it is installed. */
  find(): string | undefined
  /** Writes its configuration into the folder, and returns its command. */
  prepare(program: string, ports: Ports, folder: string): readonly string[]
  headers?(ports: Ports): readonly string[]
}

const onPath = (name: string): string | undefined =>
  spawnSync('which', [name], { encoding: 'utf8' }).stdout?.trim() || undefined

/** Searched from the working folder. */
const inNodeModules = (name: string, file: string): string | undefined => {
  try {
    const { resolve } = createRequire(join(process.cwd(), 'package.json'))
    return join(dirname(resolve(`${name}/package.json`)), file)
  } catch {
    return undefined
  }
}

export const PEERS: Readonly<Record<string, Peer>> = {
  nginx: {
    find: () => onPath('nginx'),
    prepare(program, { own, upstream }, folder) {
      const config = join(folder, 'nginx.conf')
      for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'])
        mkdirSync(join(folder, name))
      writeFileSync(config, nginxConfiguration(own, upstream))
      return [program, '-p', folder, '-e', join(folder, 'error.log'), '-c', config]
    },
  },
  portkey: {
    find: () => inNodeModules('@portkey-ai/gateway', 'build/start-server.js'),
    prepare: (program, { own }) => [process.execPath, program, `--port=${own}`, '--headless'],
    headers: ({ upstream }) => [
      'x-portkey-provider: openai',
      `x-portkey-custom-host: http://127.0.0.1:${upstream}/v1`,
    ],
  },
  litellm: {
    find: () => onPath('litellm'),
    prepare(program, { own, upstream }, folder) {
      const config = join(folder, 'litellm.yaml')
      const models = Object.values(NAMES).map(name => ({
        model_name: name,
        litellm_params: {
          model: `openai/${name}`,
          api_base: `http://127.0.0.1:${upstream}/v1`,
          api_key: KEY,
        },
      }))
      writeFileSync(
        config,
        JSON.stringify({ model_list: models, general_settings: { master_key: KEY } }),
      )
      return [program, '--config', config, '--host', '127.0.0.1', '--port', `${own}`]
    },
  },
}

const nginxConfiguration = (own: number, upstream: number): string => `
worker_processes 1; daemon off; pid nginx.pid; worker_rlimit_nofile 65536;
events { worker_connections 32768; }
http {
  access_log off; tcp_nodelay on; keepalive_requests 100000000; client_max_body_size 32m;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  upstream bench { server 127.0.0.1:${upstream}; keepalive 256; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${own} backlog=4096;
    location / {
      proxy_pass http://bench; proxy_http_version 1.1; proxy_buffering off;
      proxy_set_header Connection ""; proxy_set_header Authorization "Bearer ${KEY}";
    }
  }
}`

export const installedPeers = (): string[] =>
  Object.keys(PEERS).filter(name => PEERS[name]?.find() !== undefined)

export interface RunningPeer extends Subject {
  readonly child: ChildProcess
}

/** s until a peer answers: LiteLLM imports for half a minute. */
const START = 120

/** Starts a peer on a core and waits until it answers. */
export const startPeer = async (
  name: string,
  upstream: number,
  core: number,
): Promise<RunningPeer> => {
  const peer = PEERS[name]
  const program = peer?.find()
  if (!peer || !program) throw new Error(`${name} is not installed`)
  const folder = mkdtempSync(join(tmpdir(), `tollgate-bench-${name}-`))
  const ports = { own: await freePort(), upstream }
  const [command = '', ...args] = peer.prepare(program, ports, folder)
  const child = spawn(command, args, {
    stdio: 'ignore',
    env: { ...process.env, OPENAI_API_KEY: KEY },
  })
  child.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const pid = child.pid ?? 0
  pin(pid, core)
  const subject = {
    name,
    pid,
    port: ports.own,
    key: KEY,
    headers: peer.headers?.(ports) ?? [],
    child,
  }
  for (let second = 0; second < START; second++) {
    if (await answers(subject)) return subject
    if (child.exitCode !== null) break
    await pause(1_000)
  }
  child.kill()
  throw new Error(`${name} does not answer on port ${ports.own}`)
}

const answers = async ({ port, key, headers = [] }: Subject): Promise<boolean> => {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${PATH}`, {
      method: 'POST',
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
        ...headers.map(each => each.split(': ') as [string, string]),
      ],
      body: requestBody('plain'),
    })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
