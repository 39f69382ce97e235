/** Runs the command line in this process, with a terminal that remembers. */
import type { Test } from 'tap'
import type { Terminal } from '../../engine/cli/verb.ts'
import { main } from '../../engine/cli.ts'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

export const tollgate = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Said> => {
  const out: string[] = []
  const err: string[] = []
  const terminal: Terminal = {
    env,
    out: text => out.push(text),
    say: text => err.push(text),
    paint: (_, text) => text,
    colors: false,
  }
  const code = await main(argv, terminal)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** The same for what plugins add to it: they write where every program does. */
export const withOutput = async (
  t: Test,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Said> => {
  const [out, err] = [process.stdout, process.stderr].map(stream => t.capture(stream, 'write'))
  const said = await tollgate(argv, env).finally(() => {
    out?.restore()
    err?.restore()
  })
  const text = (captured: typeof out): string => captured?.args().flat().join('') ?? ''
  return { code: said.code, out: said.out + text(out), err: said.err + text(err) }
}
