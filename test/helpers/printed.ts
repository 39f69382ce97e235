/** Runs a command of a plugin as the command line does, and remembers what it prints. */
import type { Test } from 'tap'
import { bindHost } from '../../engine/cli/plugin-commands.ts'
import { runPluginCommand } from '../../engine/cli/run-command.ts'
import type { Command, HostBase } from '../../engine/plugin.ts'
import { remembering } from './terminal.ts'

interface Printed {
  readonly exit: number
  readonly out: string
  readonly err: string
  json(): unknown
}
/** `name`: of the command in `commands`. */
export const runCommand = async (
  t: Test,
  name: string,
  commands: Readonly<Record<string, Command>>,
  host: HostBase,
  args: readonly string[],
): Promise<Printed> => {
  const command = commands[name]
  if (!command) throw new Error('there is no such command')
  const terminal = remembering({})
  const bound = bindHost(command, run => run(host))
  const [out, err] = [process.stdout, process.stderr].map(stream => t.capture(stream, 'write'))
  let exit: number
  try {
    exit = await runPluginCommand(name, bound, args, terminal)
  } finally {
    out?.restore()
    err?.restore()
  }
  const written = (of: typeof out): string => of?.args().flat().join('') ?? ''
  const lines = (texts: readonly string[]): string => texts.map(text => `${text}\n`).join('')
  const stdout = written(out) + lines(terminal.outs)
  return {
    exit,
    out: stdout,
    err: written(err) + lines(terminal.errs),
    json: () => JSON.parse(stdout),
  }
}
