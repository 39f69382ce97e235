/** Runs a plugin's command as the command line does, and records its output. */
import type { Test } from 'tap'
import { bindHost } from '../../engine/cli/plugin-commands.ts'
import { runPluginCommand } from '../../engine/cli/run-command.ts'
import type { Command, HostBase } from '../../engine/plugin.ts'
import { recordingTerminal } from './terminal.ts'

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
