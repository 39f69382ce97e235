/** Parts of requests that many tests have: turns, tools, calls, images and hints. */
import type { Fields } from '../../../plugins/formats/fields.ts'

export const STRICT = { 'x-tollgate-strict': 'true' }
export const EMPTY_SCHEMA = { type: 'object', properties: {} }
/** A hint for the prompt cache, and one that lasts an hour. */
export const CACHED = { type: 'ephemeral' }
export const CACHED_FOR_AN_HOUR = { type: 'ephemeral', ttl: '1h' }

/** Turns of chat, Responses and Messages whose content is a list of parts. */
export const user = <const Parts extends readonly unknown[]>(...content: Parts) =>
  ({ role: 'user', content }) as const
export const assistant = <const Parts extends readonly unknown[]>(...content: Parts) =>
  ({ role: 'assistant', content }) as const
export const geminiUser = <const Parts extends readonly unknown[]>(...parts: Parts) =>
  ({ role: 'user', parts }) as const

export const chatTool = (name: string, parameters: Fields = EMPTY_SCHEMA) => ({
  type: 'function',
  function: { name, parameters },
})
export const responsesTool = (name: string, parameters: Fields = EMPTY_SCHEMA) => ({
  type: 'function',
  name,
  parameters,
  strict: false,
})
export const messagesTool = (name: string, input_schema: Fields = EMPTY_SCHEMA) => ({
  name,
  input_schema,
})
/** A custom tool of Responses with a grammar of its own. */
export const grammarTool = (name: string, definition: string) => ({
  type: 'custom',
  name,
  format: { type: 'grammar', syntax: 'lark', definition },
})

/** A call in a turn of chat, without arguments unless they are given. */
export const chatCall = (id: string, name: string, input = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: input },
})
export const imagePart = (url: string) => ({ type: 'image_url', image_url: { url } }) as const
/** An image of Messages. */
export const imageBlock = (media_type: string) => ({
  type: 'image',
  source: { type: 'base64', media_type, data: 'iVBORw0KGgo=' },
})
