/** Runs the command line, or one plugin's command, in this process, with a terminal that records
 *  its output. */
import '../environment.ts'
import type { Test } from 'tap'
import type { Terminal } from '../../../engine/cli/command.ts'
import { bindHost } from '../../../engine/cli/plugin-commands.ts'
import { runPluginCommand } from '../../../engine/cli/run-command.ts'
import { main } from '../../../engine/cli.ts'
import type { Command, HostBase } from '../../../engine/plugin.ts'

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
    program: () => 'tollgate',
    paint: (_, text) => text,
    colors: false,
    progressInterval: undefined,
  }
}

export const tollgate = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  progressInterval?: number,
): Promise<CommandResult> => {
  const terminal = { ...recordingTerminal(env), progressInterval }
  const code = await main(argv, terminal)
  return { code, out: terminal.outs.join('\n'), err: terminal.errs.join('\n') }
}

/** Runs a plugin's command, which writes to stdout and stderr directly. */
export const withOutput = async (
  t: Test,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  progressInterval?: number,
): Promise<CommandResult> => {
  const [out, err] = [process.stdout, process.stderr].map(stream => t.capture(stream, 'write'))
  const result = await tollgate(argv, env, progressInterval).finally(() => {
    out?.restore()
    err?.restore()
  })
  const text = (capture: typeof out): string => capture?.args().flat().join('') ?? ''
  return { code: result.code, out: result.out + text(out), err: result.err + text(err) }
}

interface CommandOutput {
  readonly exit: number
  readonly out: string
  readonly err: string
  json(): unknown
}
/** `name`: the command's name in `commands`. */
export const runCommand = async (
  t: Test,
  name: string,
  commands: Readonly<Record<string, Command>>,
  host: HostBase,
  args: readonly string[],
): Promise<CommandOutput> => {
  const command = commands[name]
  if (!command) throw new Error('there is no such command')
  const terminal = recordingTerminal({})
  const boundCommand = bindHost(command, run => run(host))
  const [out, err] = [process.stdout, process.stderr].map(stream => t.capture(stream, 'write'))
  let exit: number
  try {
    exit = await runPluginCommand(name, boundCommand, args, terminal)
  } finally {
    out?.restore()
    err?.restore()
  }
  const textOf = (of: typeof out): string => of?.args().flat().join('') ?? ''
  const lines = (texts: readonly string[]): string => texts.map(text => `${text}\n`).join('')
  const stdout = textOf(out) + lines(terminal.outs)
  return {
    exit,
    out: stdout,
    err: textOf(err) + lines(terminal.errs),
    json: () => JSON.parse(stdout),
  }
}
