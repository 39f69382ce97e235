/** The item that stands for the earlier part of a conversation: the summary that the gateway wrote,
 *  or what only its own provider can read. */
import { type Fields, textIn } from '../fields.ts'
import type { HostedCall, Text } from '../hub/content.ts'
import { decodePayload, encodePayload } from '../hub/opaque-payload.ts'
import { decodeHostedCall } from './hosted-tools.ts'
import { NAME } from './name.ts'

/** The origin of payloads that the gateway wrote: every target gets their text. */
const GATEWAY = 'tollgate'
const INTRODUCTION = 'Summary of the conversation so far:\n'

export const writeCompaction = (id: string, summary: string): Fields => ({
  id: `cmp_${id}`,
  type: 'compaction',
  encrypted_content: encodePayload(NAME, { origin: GATEWAY, data: summary }),
})

export const readCompaction = (item: Fields, at: string): Text | HostedCall => {
  const content = textIn(item, 'encrypted_content', `${at}.encrypted_content`) ?? ''
  const { origin, data } = decodePayload(NAME, content)
  return origin === GATEWAY ? { type: 'text', text: INTRODUCTION + data } : decodeHostedCall(item)
}
export const isSummary = ({ text }: Text): boolean => text.startsWith(INTRODUCTION)
