/** Problems of the configuration of tasks that no schema can express. Pure. */
import { choicesFor } from '../../engine/config/nearest.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { servesSignedUrls } from '../file-store/signed-url.ts'
import { takesNotices } from './endpoints/change-notices.ts'
import { checkModes } from './modes/modes.ts'

interface RouteEntry {
  readonly form?: object
  readonly task?: {
    readonly call?: object
    readonly upstreams?: readonly string[]
    readonly results?: string
    readonly submit?: { readonly callback?: string }
  }
}

export const checkRoutes = (document: Document, report: Report): void => {
  checkModes(document, report)
  const known = Object.keys((document.upstreams ?? {}) as object)
  const hasUrls = servesSignedUrls(document.routes)
  const routes = (document.routes ?? []) as unknown as readonly RouteEntry[]
  for (const [index, { form, task }] of routes.entries()) {
    if (form && task?.call)
      report(
        ['routes', index, 'task', 'call'],
        'FORM_AS_TASK',
        'a form cannot run as a task; remove `task` or `form`',
      )
    for (const [at, name] of (task?.upstreams ?? []).entries()) {
      if (known.includes(name)) continue
      const { choices, suggestion } = choicesFor(name, 'upstreams', known)
      const message = `no upstream is named ${JSON.stringify(name)}${choices}`
      const where = ['routes', index, 'task', 'upstreams', at]
      report(where, 'UNKNOWN_UPSTREAM', message, suggestion)
    }
    if (task?.submit?.callback !== undefined && !takesNotices(document.routes))
      report(
        ['routes', index, 'task', 'submit', 'callback'],
        'NOTICES_UNSERVED',
        'no route takes the notices: add { path: POST /task-changes/{name}, auth: none, task: { view: changed } }',
      )
    if (task?.results !== 'copy' || hasUrls) continue
    const message =
      'no route serves the copies: add { path: GET /files/{name}, auth: none, files: signed }'
    report(['routes', index, 'task', 'results'], 'RESULTS_UNSERVED', message)
  }
}
