/** The sandbox's results for requests other than conversations. */
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
