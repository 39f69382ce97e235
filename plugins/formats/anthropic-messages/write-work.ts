/** Encodes another provider's hosted call in the blocks of this format's own tools. */
import type { Citation, Work } from '../content.ts'
import type { Fields } from '../fields.ts'
import { isFields } from '../fields.ts'
import { sealedFor } from '../seal.ts'
import { OWN } from './read.ts'

interface Kind {
  readonly name: string
  /** The name of the input member. */
  readonly key: string
  result?(work: Work): Fields
}

/** Called by the model itself, not by a program that the model wrote. */
const DIRECT: Fields = Object.freeze({ type: 'direct' })
const searched = ({ found = [], failed }: Work): Fields => ({
  type: 'web_search_tool_result',
  caller: DIRECT,
  content:
    failed === undefined
      ? found.map(pageOf)
      : { type: 'web_search_tool_result_error', error_code: 'unavailable' },
})
const pageOf = ({ url = '', title, seal }: Citation): Fields => ({
  type: 'web_search_result',
  url,
  title: title ?? url,
  encrypted_content: seal ? sealedFor(OWN, seal) : '',
  page_age: null,
})
const fetched = (work: Work): Fields => {
  const { found = [], failed } = work
  const [page] = found
  const document = {
    type: 'document',
    title: page?.title ?? null,
    citations: null,
    source: { type: 'text', media_type: 'text/plain', data: printed(work) },
  }
  return {
    type: 'web_fetch_tool_result',
    caller: DIRECT,
    content:
      failed === undefined
        ? { type: 'web_fetch_result', url: page?.url ?? '', retrieved_at: null, content: document }
        : { type: 'web_fetch_tool_result_error', error_code: 'unavailable' },
  }
}
const ran = (work: Work): Fields => ({
  type: 'code_execution_tool_result',
  content: {
    type: 'code_execution_result',
    stdout: printed(work),
    stderr: work.failed ?? '',
    return_code: work.failed === undefined ? 0 : 1,
    content: [],
  },
})
const printed = ({ output }: Work): string => {
  if (output === undefined || output === null) return ''
  return typeof output === 'string' ? output : JSON.stringify(output)
}

const KINDS: Readonly<Record<Work['tool'], Kind>> = {
  web_search: { name: 'web_search', key: 'query', result: searched },
  web_fetch: { name: 'web_fetch', key: 'url', result: fetched },
  url_context: { name: 'web_fetch', key: 'url', result: fetched },
  code_execution: { name: 'code_execution', key: 'code', result: ran },
  file_search: { name: 'file_search', key: 'query' },
  image_generation: { name: 'image_generation', key: 'prompt' },
  other: { name: 'other', key: 'input' },
}

/** The use block, without its input. */
export const workStart = ({ tool, id }: Pick<Work, 'tool' | 'id'>): Fields => ({
  type: 'server_tool_use',
  id: serverId(id),
  name: KINDS[tool].name,
  input: {},
  caller: DIRECT,
})
export const workInput = ({ tool, input }: Work): Fields => {
  if (input === null || input === undefined) return {}
  return isFields(input) ? input : { [KINDS[tool].key]: input }
}
/** Undefined if this format has no result block for the tool. */
export const workResult = (work: Work): Fields | undefined => {
  const result = KINDS[work.tool].result?.(work)
  return result && { ...result, tool_use_id: serverId(work.id) }
}
export const workBlocks = (work: Work): readonly Fields[] => {
  const result = workResult(work)
  const use = { ...workStart(work), input: workInput(work) }
  return result ? [use, result] : [use]
}
const PREFIX = 'srvtoolu_'
export const serverId = (id: string): string =>
  id.startsWith(PREFIX) ? id : PREFIX + id.replace(/[^A-Za-z0-9_-]/g, '')
