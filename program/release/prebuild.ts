/** Prepares the program of a clone for fast starts (`npm ci` runs it): makes one script of each
 *  process, bundles the shipped plugins, compiles schemas and keeps compiled code, all below
 *  node_modules/.cache/tollgate. A start uses them while the sources are the same, and works
 *  without them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PREBUILT } from '../../engine/config/plugins/program.ts'
import { buildScripts } from './scripts.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BIN = join(ROOT, 'engine', 'bin.cjs')
/** ms. */
const TIMEOUT = 60_000

/** Starts the shipped routes on a data folder whose cache is the prebuilt folder, and stops them:
 *  what a start makes is then there, and the code that it ran. Removes nothing: a gateway may run
 *  what was prebuilt before. */
const main = async (): Promise<void> => {
  const code = join(dirname(PREBUILT), 'code')
  for (const folder of [PREBUILT, code]) mkdirSync(folder, { recursive: true })
  await buildScripts(ROOT, join(dirname(PREBUILT), 'program'))
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-prebuild-'))
  symlinkSync(PREBUILT, join(folder, 'cache'))
  try {
    // The second start runs what a start with everything prebuilt runs.
    for (const command of ['start', 'start', 'check']) {
      forgetStart()
      await run(command, { TOLLGATE_DATA: folder, NODE_COMPILE_CACHE: code })
    }
  } finally {
    forgetStart()
    rmSync(folder, { recursive: true, force: true })
  }
}
/** The record of a start would name the data folder. */
const forgetStart = (): void => {
  for (const name of readdirSync(PREBUILT).filter(each => each.startsWith('start-')))
    rmSync(join(PREBUILT, name))
}

const run = async (command: string, env: Readonly<Record<string, string>>): Promise<void> => {
  // No variable of the operator: what is kept must not depend on one.
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env
  const child = spawn(process.execPath, [BIN, command], {
    cwd: ROOT,
    env: { PATH, HOME, TMPDIR, PORT: '0', ADMIN_PORT: '0', WORKERS: '1', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT)
  const text = readText(child, output => command === 'start' && / serves$/m.test(output))
  const [exit] = await once(child, 'exit')
  clearTimeout(timer)
  if (exit !== 0) throw new Error(`tollgate ${command} ended with ${exit}:\n${text()}`)
}
/** Ends the process when its text says that it serves. */
const readText = (child: ChildProcess, serves: (text: string) => boolean): (() => string) => {
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    if (!serves(text) && serves(text + part)) child.kill('SIGTERM')
    text += part
  })
  return () => text
}

await main().catch((error: Error) =>
  console.error(`Nothing is prebuilt; the first start takes longer. ${error.message}`),
)
