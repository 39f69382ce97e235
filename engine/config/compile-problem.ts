/** What compiling found wrong, with its place. */
import { asFault } from '../errors.ts'

/** One fault of compiling, with its place: a path of keys in the document, or a plugin's file. */
export interface CompileFault {
  readonly where?: readonly (string | number)[]
  readonly plugin?: string
  readonly code: string
  readonly message: string
  readonly stack?: string | undefined
}
export class CompileError extends Error {
  readonly faults: readonly CompileFault[]
  constructor(faults: readonly CompileFault[]) {
    super(faults.map(each => `${each.code}: ${each.message}`).join('\n'))
    this.faults = faults
  }
}

/** A fault of a table keeps its code: then the options are to blame, not the plugin. */
export const describe = (thrown: unknown, code: string) => ({
  code: isDeliberate(thrown) ? asFault(thrown).code : code,
  message: thrown instanceof Error ? thrown.message : String(thrown),
  stack: thrown instanceof Error ? thrown.stack : undefined,
})
const isDeliberate = (thrown: unknown): boolean => asFault(thrown).code !== 'INTERNAL'
