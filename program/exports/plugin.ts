/** `tollgate/plugin`: what a plugin imports: the contract, errors, and small shared functions. */

export { EXIT, textOf as optionText, UsageError } from '../../engine/cli/kit.ts'
export * from '../../engine/errors.ts'
export * from '../../engine/kit.ts'
export type * from '../../engine/plugin.ts'
