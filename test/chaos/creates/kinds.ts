/** The kinds of requests that cost money or make something, of every route that takes an
 *  Idempotency-Key; the ways of making something that others share come first. */
import { CALL_KINDS } from './call-kinds.ts'
import type { Kind, Preparation } from './kind.ts'
import { operatorKinds } from './operator-kinds.ts'
import { createStoredKinds } from './stored-kinds.ts'
import { createTaskKinds } from './task-kinds.ts'

export const createKinds = async (preparation: Preparation): Promise<readonly Kind[]> => [
  ...CALL_KINDS,
  ...(await createStoredKinds(preparation)),
  ...operatorKinds(preparation.token),
  ...(await createTaskKinds(preparation)),
]

/** Routes that differ from that of a kind by their path alone. */
export const SAME_ROUTES: Readonly<Record<string, string>> = {
  'generate-content-v1': 'generate-content',
  'stream-generate-content-v1': 'stream-generate-content',
  'interactions-v1': 'interactions',
  'upload-provider-file-v1': 'upload-provider-file',
  'create-cache-v1': 'create-cache',
  'embed-content-v1': 'embed-content',
  'batch-embed-contents-v1': 'batch-embed-contents',
  translations: 'transcriptions',
  'imagine-fast': 'imagine',
  'imagine-turbo': 'imagine',
  'imagine-relax': 'imagine',
  ...Object.fromEntries(
    ['action', 'change', 'modal', 'blend', 'describe', 'shorten'].map(action => [
      `mj-${action}-by-mode`,
      `mj-${action}`,
    ]),
  ),
}
/** Routes without a kind, and the reason. */
export const WITHOUT_KIND: Readonly<Record<string, string>> = {
  moderations: 'free, and nothing is made',
  'remix-video': 'refused with 400: no provider here changes finished videos',
}
