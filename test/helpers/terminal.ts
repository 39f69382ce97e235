/** Runs the command line in this process, with a terminal that records its output. */
import './environment.ts'
import type { Test } from 'tap'
import type { Terminal } from '../../engine/cli/command.ts'
import { main } from '../../engine/cli.ts'

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface RecordingTerminal extends Terminal {
  readonly outs: readonly string[]
  readonly errs: readonly string[]
}
export const recordingTerminal = (env: Readonly<Record<string, string>>): RecordingTerminal => {
  const outs: string[] = []
  const errs: string[] = []
  return {
    env,
    outs,
    errs,
    print: text => outs.push(text),
    printError: text => errs.push(text),
    paint: (_, text) => text,
    colors: false,
  }
}

export const tollgate = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> => {
  const terminal = recordingTerminal(env)
  const code = await main(argv, terminal)
  return { code, out: terminal.outs.join('\n'), err: terminal.errs.join('\n') }
}

/** Runs a plugin's command, which writes to stdout and stderr directly. */
export const withOutput = async (
  t: Test,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandResult> => {
  const [out, err] = [process.stdout, process.stderr].map(stream => t.capture(stream, 'write'))
  const result = await tollgate(argv, env).finally(() => {
    out?.restore()
    err?.restore()
  })
  const text = (capture: typeof out): string => capture?.args().flat().join('') ?? ''
  return { code: result.code, out: result.out + text(out), err: result.err + text(err) }
}
