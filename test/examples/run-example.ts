/** Runs an example as its README says: the gateway with its routes.yaml, then its shell blocks. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { blockOf, blocksOf } from '../docs/blocks.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { startGateway, type TestGateway } from '../helpers/gateway/gateway.ts'
import { operatorEnv, plainCommand } from '../helpers/operator.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
type Texts = Readonly<Record<string, string>>

// Other tests have the plugins of their own folders only.
delete process.env.TOLLGATE_PLUGINS

/** The shell blocks of the README of an example. */
const blocksOfExample = (name: string): readonly string[] =>
  blocksOf(`examples/${name}/README.md`)
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text)

/** Starts the gateway of an example, which its README starts too. */
export const startExample = async (t: Test, name: string, env: Texts = {}) => {
  const config = `examples/${name}/routes.yaml`
  t.ok(existsSync(`${ROOT}/${config}`), config)
  const starts = blocksOfExample(name).filter(text => text.includes(`start --config ${config}\n`))
  t.not(starts.length, 0, 'its README starts the gateway')
  const gateway = await startGateway({ env: { TOLLGATE_CONFIG: `${ROOT}/${config}`, ...env } })
  t.teardown(() => gateway.stop())
  return gateway
}

/** Credits the account `admin` by the command that the README of the example, or of all, shows. */
export const credit = async (t: Test, name: string, gateway: TestGateway, env: Texts = {}) => {
  // The account exists once the first start has printed its key.
  await gateway.key()
  const command = `accounts credit admin 10 --config examples/${name}/routes.yaml`
  const texts = [...blocksOfExample(name), blockOf('examples/README.md', 'sh')].join('')
  t.match(texts.replaceAll('openai-pass-through', name), `node engine/bin.cjs ${command}\n`)
  const options = {
    TOLLGATE_DATA: gateway.data,
    TOLLGATE_CONFIG: `${ROOT}/examples/${name}/routes.yaml`,
  }
  const argv = command.split(' ').slice(0, 4)
  t.match(await tollgate(argv, { ...options, ...env }), { code: 0 })
}

/** Runs the last shell block of the README, with other texts in place of its ports. */
export const runReadme = async (
  name: string,
  { url }: Pick<TestGateway, 'url'>,
  key: string,
  replacements: Texts = {},
): Promise<string> => {
  const ports = { '127.0.0.1:8080': url.replace('http://', ''), ...replacements }
  const text = Object.entries(ports).reduce(
    (script, [from, to]) => script.replaceAll(from, to),
    blocksOfExample(name).at(-1) ?? 'false',
  )
  return readOutput(start('bash', ['-euo', 'pipefail', '-c', text], { KEY: key }))
}

const start = (program: string, args: readonly string[], env: Texts = {}): ChildProcess =>
  spawn(...plainCommand(program, ...args), {
    cwd: ROOT,
    env: operatorEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })

const readOutput = async (child: ChildProcess): Promise<string> => {
  const texts: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: Buffer) => texts.push(text.toString()))
  const [code] = await once(child, 'close')
  const text = texts.join('')
  if (code !== 0) throw new Error(`exit ${code}:\n${text}`)
  return text
}

export interface Provider {
  readonly url: string
  /** The lines that it printed: one for each request. */
  readonly requests: () => readonly string[]
}
/** Starts examples/provider.mjs, in a process of its own; `status` refuses all calls. */
export const startProvider = (t: Test, status?: number): Promise<Provider> =>
  startScript(t, ['examples/provider.mjs', '0', ...(status === undefined ? [] : [`${status}`])])
/** Starts a provider of an example in a process of its own. */
export const startScript = async (t: Test, args: readonly string[]): Promise<Provider> => {
  const child = start(process.execPath, args)
  t.teardown(() => child.kill())
  let text = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk
  })
  while (!text.includes('\n')) await once(child.stdout ?? child, 'data')
  const port = /^listens on (\d+)\n/.exec(text)?.[1]
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: () => text.trim().split('\n').slice(1),
  }
}
