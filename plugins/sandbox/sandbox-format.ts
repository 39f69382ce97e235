/** Helpers to read requests, and the id of an answer. */
import type { Json } from '../../engine/plugin.ts'

export type Fields = { readonly [key: string]: Json }
/** Id and time (s since 1970) of one answer. */
export interface AnswerId {
  readonly id: string
  readonly createdAt: number
}
export interface AnswerContext extends AnswerId {
  /** The absolute address of a file of the sandbox. */
  fileUrl(name: string): string
}

export const fieldsIn = (value: Json | undefined): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
export const listIn = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : []
export const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
export const numberIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' ? value : undefined
