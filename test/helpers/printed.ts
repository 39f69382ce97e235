/** Runs a plugin's command as the command line does and keeps what it prints. */
import { parseArgs } from 'node:util'
import type { Test } from 'tap'
import type { Command, Lent } from '../../engine/plugin.ts'

export interface Printed {
  readonly exit: number
  readonly out: string
  readonly err: string
  /** `out`, where it is JSON. */
  json(): unknown
}

export const runCommand = async (
  t: Test,
  command: Command | undefined,
  host: Lent,
  args: readonly string[],
): Promise<Printed> => {
  if (!command) throw new Error('there is no such command')
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { ...command.options, json: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [out, err] = [process.stdout, process.stderr].map(stream => t.capture(stream, 'write'))
  let exit: number
  try {
    exit = await command.run({ values, positionals }, host)
  } finally {
    out?.restore()
    err?.restore()
  }
  const textOf = (of: typeof out) => of?.args().flat().join('') ?? ''
  const [stdout, stderr] = [textOf(out), textOf(err)]
  return { exit, out: stdout, err: stderr, json: () => JSON.parse(stdout) }
}
