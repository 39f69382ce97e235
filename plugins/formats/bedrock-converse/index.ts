/** Amazon Bedrock's Converse and ConverseStream, for targets only: the model is in the path, blocks
 *  are named by their only member, streams are AWS event streams. */
import type { TargetFormat } from '../format.ts'
import { AWS_FRAMING } from '../stream/aws-event-stream.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { decodeStream } from './decode-stream.ts'
import { answers, carriesContent, decodeError, errorOf, failedEnd } from './errors.ts'
import { NAME } from './name.ts'
import { encodePrompt } from './request.ts'
import { decodeAnswer } from './response.ts'
import { toolSupport } from './tools.ts'
import { countsIn, metersOf, ownNames, served } from './usage.ts'

const EXCLUSIONS = ['citation', 'citations', 'trace']

export const bedrockConverse: TargetFormat = {
  name: NAME,
  usage: {
    key: 'usage',
    inEvent: countsIn,
    inAnswer: countsIn,
    meters: metersOf,
    ownNames,
    sums: {
      input: ['inputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens'],
      output: ['outputTokens'],
    },
    text: {
      plain: compileTextPattern({ text: ['text'], objects: ['input'], exclusions: EXCLUSIONS }),
      events: compileTextPattern({ text: ['text', 'input'], exclusions: EXCLUSIONS }),
    },
    counts: ['input', 'cached', 'cache_write', 'cache_write_1h', 'output'],
  },
  served,
  stream: { framing: AWS_FRAMING, error: errorOf, carriesContent, failedEnd },
  answers,
  codec: { encodePrompt, decodeAnswer, decodeStream, decodeError, tools: toolSupport },
}
