/** Compaction: a long conversation becomes its user messages and one item that stands for the
 *  rest. An upstream with this endpoint makes the item itself. For any other, its model writes a
 *  summary, which the item carries to every later target. */
import { fault } from '../faults.ts'
import { lenientObjects, omitUndefined } from '../fields.ts'
import type { Format } from '../format.ts'
import { cacheWriter } from '../hub/cache-hint.ts'
import type { Codec } from '../hub/codec.ts'
import type { Turn } from '../hub/prompt.ts'
import { openaiErrorInAnswer, openaiFailure } from '../unanswered.ts'
import { compactionAbout } from './about.ts'
import { isSummary, writeCompaction } from './compaction-item.ts'
import { writeItems } from './encode-messages.ts'
import { fault as own } from './faults.ts'
import { openaiResponses } from './index.ts'
import { itemId, NAME } from './name.ts'
import { decodePrompt } from './request.ts'
import { countsOf, served } from './usage.ts'

const REQUEST = `Write a summary of the conversation so far, for the model that continues it without having read it. \
Keep what it needs: the goals and wishes of the user, decisions and their reasons, facts, names, paths, code and results of tools that still matter, \
what is done and what is open. Write the summary only.`
const REQUEST_TURN: Turn = { role: 'user', content: [{ type: 'text', text: REQUEST }] }

type Content = Turn['content'][number]
const NOWHERE = { add: () => undefined }
const encodeAnswer: Codec['encodeAnswer'] = ({ choices, meters, created }, context) => {
  const { id, now, prompt } = context
  const summary = choices.flatMap(({ content }) => content.map(textOf)).join('')
  if (summary.trim() === '') throw own('COMPACTION_EMPTY')
  const messages = prompt.turns
    .filter(turn => turn.role === 'user' && !isRequest(turn))
    .map(turn => ({ ...turn, content: turn.content.filter(isMessage) }))
    .filter(({ content }) => content.length > 0)
  return omitUndefined({
    id: `resp_${id}`,
    object: 'response.compaction',
    created_at: created ?? now,
    output: [
      ...writeItems(messages, cacheWriter(false, NOWHERE), NOWHERE).map((item, index) => ({
        ...item,
        id: itemId('msg', id, index),
        status: 'completed',
        content:
          typeof item.content === 'string'
            ? [{ type: 'input_text', text: item.content }]
            : (item.content ?? []),
      })),
      writeCompaction(id, summary),
    ],
    usage: meters && countsOf(meters),
  })
}
const textOf = (content: Content): string => (content.type === 'text' ? content.text : '')
/** Results belong to calls, which the summary replaces; so it does an earlier summary. */
const isMessage = (content: Content): boolean =>
  content.type === 'media' || (content.type === 'text' && !isSummary(content))
const isRequest = ({ content: [first] }: Turn): boolean =>
  first?.type === 'text' && first.text === REQUEST

/** Shares upstreams, answers and counts of the format of OpenAI responses. */
export const openaiCompaction: Format = {
  name: 'openai-compaction',
  base: NAME,
  dialect: openaiResponses.dialect,
  endpoint: openaiResponses.endpoint,
  about: compactionAbout,
  model: openaiResponses.model,
  usage: openaiResponses.usage,
  served,
  stream: openaiResponses.stream,
  answers: {
    marks: ['"response.compaction"'],
    failure: body =>
      lenientObjects(body, 'output').length > 0 ? openaiErrorInAnswer(body) : openaiFailure(body),
  },
  codec: {
    ...openaiResponses.codec,
    decodePrompt(body, path, dropped) {
      const { stream, ...request } = body
      if (stream === true)
        throw fault('MEMBER_VALUE', ['stream', 'a compaction is not streamed'], { param: 'stream' })
      const prompt = decodePrompt(request, path, dropped)
      return { ...prompt, turns: [...prompt.turns, REQUEST_TURN], body }
    },
    encodeAnswer,
  },
}
