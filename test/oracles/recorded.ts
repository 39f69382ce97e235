/** Recorded provider requests as requests of clients. */
import { asObject } from '../helpers/formats/loose-json.ts'
import { recordedFormat, recordings } from '../helpers/formats/recordings.ts'
import type { Client, ClientRequest } from './cells.ts'

export const recordedRequests: readonly ClientRequest[] = (recordings() ?? []).flatMap(
  ({ id, format, request, status }) => {
    const client = recordedFormat(format) as Client | undefined
    if (!request || status !== 200 || client === undefined) return []
    return [{ client, name: id, body: structuredClone(asObject(request)) }]
  },
)
