/** Reranking, as Cohere and Jina have it and compatible servers offer it: a query and documents,
 *  and results with the index and the relevance of each document. */
import type { Format } from '../format.ts'
import { NO_NULLS } from '../json/null-members.ts'
import { decodeErrorReply } from '../openai-error-reply.ts'
import { OPENAI_SERVED } from '../served.ts'
import { NO_STREAM } from '../stream/no-stream.ts'
import { OPENAI_ERRORS } from '../unanswered.ts'
import { about } from './about.ts'
import { metersOf, ownNames, rerankEstimate } from './usage.ts'

export const cohereRerank: Format = {
  name: 'cohere-rerank',
  dialect: 'openai',
  endpoint: 'rerank',
  about,
  model: 'body',
  usage: {
    key: 'meta',
    inEvent: () => undefined,
    counts: ['search_units', 'input'],
    meters: metersOf,
    ownNames,
    sums: { input: [], output: [] },
    estimate: rerankEstimate,
  },
  nulls: NO_NULLS,
  served: OPENAI_SERVED,
  stream: NO_STREAM,
  answers: OPENAI_ERRORS,
  decodeError: decodeErrorReply,
}
