/** Runs the command line in this process, with a terminal that remembers. */
import './environment.ts'
import type { Test } from 'tap'
import type { Terminal } from '../../engine/cli/command.ts'
import { main } from '../../engine/cli.ts'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Remembering extends Terminal {
  readonly outs: readonly string[]
  readonly errs: readonly string[]
}
export const remembering = (env: Readonly<Record<string, string>>): Remembering => {
  const outs: string[] = []
  const errs: string[] = []
  return {
    ...{ env, outs, errs },
    print: text => outs.push(text),
    printError: text => errs.push(text),
    paint: (_, text) => text,
    colors: false,
  }
}

export const tollgate = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Said> => {
  const terminal = remembering(env)
  const code = await main(argv, terminal)
  return { code, out: terminal.outs.join('\n'), err: terminal.errs.join('\n') }
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
