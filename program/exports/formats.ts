/** `tollgate/formats`: prompts and answers in any wire format, and what a format consists of. */

export * from '../../plugins/formats/fields.ts'
export * from '../../plugins/formats/format.ts'
export type * from '../../plugins/formats/hub/answer.ts'
export type * from '../../plugins/formats/hub/codec.ts'
export type * from '../../plugins/formats/hub/content.ts'
export type * from '../../plugins/formats/hub/prompt.ts'
export * from '../../plugins/formats/hub/prompt-media.ts'
export * from '../../plugins/formats/hub/slots.ts'
export * from '../../plugins/formats/hub/text.ts'
export * from '../../plugins/formats/openai-error-reply.ts'
export type * from '../../plugins/formats/stream/sse.ts'
export * from '../../plugins/formats/stream/text-pattern.ts'
