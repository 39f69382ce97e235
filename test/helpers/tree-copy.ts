/** Copies of the source tree with changed files, and whether test files fail there. */
import './environment.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processesOf } from './process-tree.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Folders that a checkout or a run adds to the source. */
const NOT_COPIED = ['.git', '.tap', 'artifacts', 'coverage', 'data', 'dist', 'node_modules', 'tmp']
/** The environment of the tests, in their short form. */
const SHORT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:LONG$|_?TAP|NODE_OPTIONS$)/.test(name)),
)
/** Milliseconds: a test that hangs counts as failed. */
const TIMEOUT = 120_000

/** Runs a test file of a tree up to its first failed assertion. Returns whether it passed. */
export const passes = async (
  folder: string,
  test: string,
  { timeout = TIMEOUT, coverage }: { timeout?: number; coverage?: string } = {},
): Promise<boolean> => {
  const scratch = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const own = { TAP_BAIL: '1', TAP_TIMEOUT: String(timeout / 1_000), TMPDIR: scratch }
  const child = spawn(
    process.execPath,
    ['--single-threaded-gc', '--import=./test/helpers/code.ts', test],
    {
      cwd: folder,
      stdio: 'ignore',
      env: { ...SHORT, ...own, NODE_V8_COVERAGE: coverage },
    },
  )
  const timer = setTimeout(() => killTree(child.pid ?? 0), timeout)
  const [code] = await once(child, 'exit')
  clearTimeout(timer)
  rmSync(scratch, { recursive: true, force: true, maxRetries: 3 })
  return code === 0
}

/** Also ends gateways that the test has started in groups of their own. */
const killTree = (root: number): void => {
  try {
    for (const pid of processesOf(root).toReversed()) process.kill(pid, 'SIGKILL')
  } catch {
    // A process has ended in between; the others end with their parent.
  }
}

export interface TreeCopy {
  read(file: string): string
  /** The first test that fails with these texts by file; undefined if none does. */
  firstFailure(
    texts: ReadonlyMap<string, string>,
    tests: readonly string[],
    timeoutOf?: (test: string) => number,
  ): Promise<string | undefined>
  remove(): void
}

export const copyTree = (): TreeCopy => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-copy-'))
  for (const path of readdirSync(ROOT))
    if (!NOT_COPIED.includes(path))
      cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8')
  const write = (texts: ReadonlyMap<string, string>): void => {
    for (const [file, text] of texts) writeFileSync(join(folder, file), text)
  }
  return {
    read,
    async firstFailure(texts, tests, timeoutOf = () => TIMEOUT) {
      const before = new Map([...texts.keys()].map(file => [file, read(file)]))
      write(texts)
      try {
        for (const test of tests)
          if (!(await passes(folder, test, { timeout: timeoutOf(test) }))) return test
        return undefined
      } finally {
        write(before)
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
