/** Problems of the configuration: a route whose body limit is below the largest file. Pure. */
import { amountIn, SIZES } from '../../engine/kit.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { fileSettingsOf } from '../file-store/settings.ts'

/** Bytes of a form beside its file: heads, fields, and what follows the last delimiter. */
export const MAX_OVERHEAD = 2 ** 20
const DEFAULT_BODY = '32MiB'

interface Route {
  readonly files?: string
  readonly body?: { readonly limit?: string | number }
}
interface Settings {
  readonly limits?: { readonly body?: string | number }
}

export const checkBodyLimits = (document: Document, report: Report): void => {
  const { limits } = (document.settings ?? {}) as Settings
  const section = <T>(): T => (document.settings ?? {}) as T
  const largest = Math.max(...Object.values(fileSettingsOf({ section }).sizes)) + MAX_OVERHEAD
  for (const [index, route] of ((document.routes ?? []) as readonly Route[]).entries()) {
    if (route.files !== 'upload') continue
    const limit = amountIn(String(route.body?.limit ?? limits?.body ?? DEFAULT_BODY), SIZES)
    if (limit < largest)
      report(
        ['routes', index, route.body ? 'body' : 'files'],
        'FILES_BODY',
        `the body limit of this route is ${limit} bytes; the largest file of settings.files.sizes needs ${largest}`,
      )
  }
}
