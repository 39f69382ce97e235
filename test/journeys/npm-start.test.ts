/** `npm start` and a start by an old Node as real processes: each signal to them drains the gateway
 *  and leaves no listener on the port. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { findRunning } from '../../engine/processes/running-gateway.ts'
import { usedFolder } from '../helpers/cache.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { operatorEnv, plainCommand } from '../helpers/operator.ts'
import { processesOf } from '../helpers/process-tree.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** How each case ends the child, which leads its own process group. */
const ENDS: Readonly<Record<string, (child: ChildProcess) => boolean>> = {
  'SIGTERM to npm': child => child.kill('SIGTERM'),
  'SIGTERM to the process group of npm': child => process.kill(-groupOf(child), 'SIGTERM'),
  'SIGINT to the process group of npm': child => process.kill(-groupOf(child), 'SIGINT'),
  'SIGQUIT to the process group of the shell': child => process.kill(-groupOf(child), 'SIGQUIT'),
  'SIGKILL to npm': child => child.kill('SIGKILL'),
  'SIGTERM to the shell of the script': child => child.kill('SIGTERM'),
  'SIGQUIT to an old Node': child => child.kill('SIGQUIT'),
  'SIGTERM to the process group of an old Node': child => process.kill(-groupOf(child), 'SIGTERM'),
  'SIGKILL to an old Node': child => child.kill('SIGKILL'),
  'SIGINT to an old Node alone, on a terminal': child =>
    process.kill(childOf(groupOf(child)), 'SIGINT'),
  'Ctrl-C in the terminal of an old Node': child => child.stdin?.write('\u0003') === true,
}
const SCRIPT = '/usr/bin/script'
/** The process that `script` runs on its terminal. */
const childOf = (pid: number): number => processesOf(pid)[1] ?? 0

/** The process group that the child leads. */
const groupOf = ({ pid }: ChildProcess): number => {
  if (pid === undefined || pid < 2) throw new Error('the process did not start')
  return pid
}
const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** An upstream that answers when its request is resolved. */
const startUpstream = async (t: Test) => {
  const request = Promise.withResolvers<() => void>()
  const server = createServer((_, response) => request.resolve(() => void response.end('whole')))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, asked: request.promise }
}

/** Starts the program as a Node does that is too old, and changes to the pinned one. */
const oldNode = (folder: string): readonly [string, readonly string[]] => {
  const preload = join(folder, 'old.cjs')
  const pretend = "Object.defineProperty(process.versions, 'node', { value: '20.1.0' })"
  writeFileSync(preload, `if (!process.env.TOLLGATE_CHANGED_RUNTIME) ${pretend}`)
  return plainCommand(process.execPath, '-r', preload, join(ROOT, 'engine/bin.cjs'), 'start')
}

const start = (t: Test, folder: string, by: 'npm' | 'shell' | 'old Node' | 'terminal') => {
  const path = (process.env.PATH ?? '').split(delimiter)
  const env = operatorEnv({
    PATH: path.filter(each => !each.includes('node_modules')).join(delimiter),
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    WORKERS: '1',
    NO_COLOR: '1',
    TOLLGATE_CONFIG: join(folder, 'routes.yaml'),
    TOLLGATE_DATA: join(folder, 'data'),
  })
  const pathWithBin = `${join(ROOT, 'node_modules/.bin')}${delimiter}${env.PATH}`
  const lifecycle = {
    npm_lifecycle_event: 'start',
    npm_package_name: 'tollgate',
    PATH: pathWithBin,
  }
  const [program, args] = {
    npm: () => plainCommand('npm', 'start'),
    shell: () => ['sh', ['-c', scripts.start as string]] as const,
    'old Node': () => oldNode(folder),
    terminal: () => {
      const [node, words] = oldNode(folder)
      const command = [node, ...words].map(each => `'${each}'`).join(' ')
      return [SCRIPT, ['-qec', `exec ${command}`, '/dev/null']] as const
    },
  }[by]()
  const child = spawn(program, args, {
    cwd: ROOT,
    detached: true,
    env: by === 'shell' ? { ...env, ...lifecycle } : env,
    stdio: [by === 'terminal' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', text => {
      output += text
    })
  t.teardown(() => {
    if (isThere(-groupOf(child))) process.kill(-groupOf(child), 'SIGKILL')
  })
  return { child, readOutput: () => output }
}

const starterOf = (what: string) => {
  if (what.includes('terminal')) return 'terminal'
  return what.includes('shell') ? 'shell' : what.includes('old') ? 'old Node' : 'npm'
}
for (const [what, end] of Object.entries(ENDS)) {
  const skip = what.includes('terminal') && !existsSync(SCRIPT) && 'util-linux is not installed'
  t.test(`npm start: ${what} ends the gateway in order`, { skip }, async t => {
    const upstream = await startUpstream(t)
    const folder = t.testdir({
      'routes.yaml': `settings:
  plugins: ${JSON.stringify([join(ROOT, 'test/fixtures/errors-only')])}
pipeline: [errors]
upstreams: { up: { url: 'http://127.0.0.1:${upstream.port}' } }
routes: [{ path: GET /, upstream: up }]
`,
    })
    usedFolder(join(folder, 'data'))
    const { child, readOutput } = start(t, folder, starterOf(what))
    const exit = once(child, 'exit')
    const running = await eventually(() => {
      if (child.exitCode !== null) throw new Error(readOutput())
      return findRunning(join(folder, 'data'))
    })
    const tree = processesOf(running.pid)
    t.ok(tree.length >= 3, 'a primary, a worker and a builder')
    const reply = fetch(running.url).then(response => response.text())
    const answer = await upstream.asked
    t.equal(end(child), true)
    await eventually(() => (/"msg":"draining"/.test(readOutput()) ? true : undefined))
    answer()
    t.equal(await reply, 'whole', 'the running request is answered')
    await exit
    await eventually(() => (tree.some(isThere) ? undefined : true))
    await t.rejects(fetch(running.url), 'no listener on the port')
  })
}
