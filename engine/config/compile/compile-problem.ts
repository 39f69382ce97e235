/** Faults of compiling a document, with their places. */
import { asFault } from '../../errors.ts'

/** A fault of compiling. Its place is a path of keys in the document, or the file of a plugin. */
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

/** A fault from a fault table keeps its code: it blames the options, not the plugin. */
export const describeError = (thrown: unknown, code: string) => ({
  code: isDeliberate(thrown) ? asFault(thrown).code : code,
  message: thrown instanceof Error ? thrown.message : String(thrown),
  stack: thrown instanceof Error ? thrown.stack : undefined,
})
const isDeliberate = (thrown: unknown): boolean => asFault(thrown).code !== 'INTERNAL'
