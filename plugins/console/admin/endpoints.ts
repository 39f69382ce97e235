/** The tables of all endpoints of operators. */
import { configurationEndpoints } from './configuration.ts'
import { editorEndpoints } from './editor.ts'
import type { AdminEndpoints, EventEndpoints } from './endpoint.ts'
import { failedCallEndpoints } from './failed-calls.ts'
import { ledgerEndpoints } from './ledger.ts'
import { operationEndpoints } from './operations.ts'
import { requestEndpoints, requestEvents } from './requests.ts'
import { upstreamEndpoints } from './upstreams.ts'

const tables: readonly AdminEndpoints[] = [
  operationEndpoints,
  requestEndpoints,
  failedCallEndpoints,
  upstreamEndpoints,
  configurationEndpoints,
  editorEndpoints,
  ledgerEndpoints,
]
export const ADMIN_ENDPOINTS: AdminEndpoints = Object.assign({}, ...tables)
export const EVENT_ENDPOINTS: EventEndpoints = requestEvents
