/** Faults of compiling a document, with their places. */
import { asFault } from '../../errors.ts'
import { stageFault } from '../plugins/members.ts'

/** `where`: a path of keys in the document. `plugin`: the plugin at fault. */
export interface CompileFault {
  readonly where?: readonly (string | number)[]
  readonly plugin?: string
  readonly code: string
  readonly message: string
  /** The word that was probably meant. */
  readonly suggestion?: string | undefined
  readonly stack?: string | undefined
}
export class CompileError extends Error {
  readonly faults: readonly CompileFault[]
  constructor(faults: readonly CompileFault[]) {
    super(faults.map(each => `${each.code}: ${each.message}`).join('\n'))
    this.faults = faults
  }
}

/** The code and message of an error. A fault from a fault table keeps its own code, with which the
 *  plugin refused its options; any other error gets `code`. */
export const describeError = (error: unknown, code: string) => ({
  code: isDeliberate(error) ? asFault(error).code : code,
  message: error instanceof Error ? error.message : String(error),
  stack: error instanceof Error ? error.stack : undefined,
})
/** Reports at `settings.database` why the store cannot be used. */
export const storeFault = (error: unknown, code: string): CompileFault => {
  const { message, ...description } = describeError(error, code)
  return {
    ...description,
    where: ['settings', 'database'],
    message: `${message}; check settings.database, or DATABASE_URL if it is not set`,
  }
}
const isDeliberate = (error: unknown): boolean => asFault(error).code !== 'INTERNAL'

/** The fault of what `setup` of a plugin returned; undefined: it is a stage. */
export const describeStage = (plugin: string, stage: unknown) => {
  const fault = stageFault(stage)
  if (!fault) return undefined
  const { message, suggestion } = fault
  return { code: 'PLUGIN_STAGE', message: `the plugin "${plugin}" ${message}`, suggestion }
}
