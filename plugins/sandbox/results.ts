/** The results of the sandbox that are no conversations. */
import type { CannedResult } from './canned-result.ts'
import { googleEmbeddings, openaiEmbeddings } from './embeddings.ts'
import { images } from './images.ts'
import { moderations } from './moderations.ts'
import { rerank } from './rerank.ts'

export const RESULTS: readonly CannedResult[] = [
  openaiEmbeddings,
  googleEmbeddings,
  images,
  moderations,
  rerank,
]
