/** `tollgate version`: prints the versions of the program and of Node. */
import { readFileSync } from 'node:fs'
import type { SingleCommand } from './command.ts'

export const programVersion = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version

export default {
  summary: 'Prints the version of the program and of the runtime.',
  example: 'version --json',
  async run({ values }, terminal) {
    const versions = { tollgate: programVersion(), node: process.versions.node }
    terminal.print(
      values.json
        ? JSON.stringify(versions)
        : `tollgate ${versions.tollgate} (node ${versions.node})`,
    )
    return 0
  },
} satisfies SingleCommand
