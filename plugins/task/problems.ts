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
    readonly submit?: {
      readonly callback?: string
      readonly path?: string
      readonly with?: { readonly [member: string]: { readonly path?: string } }
    }
    readonly find?: { readonly path?: string }
    readonly poll?: { readonly path?: string; readonly results_path?: string }
    readonly cancel?: { readonly path?: string }
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
    checkPaths(task ?? {}, ['routes', index, 'task'], report)
    checkSubmitPaths(task ?? {}, ['routes', index, 'task'], report)
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

/** Only the model is known before the submit. */
const checkSubmitPaths = (
  { submit }: NonNullable<RouteEntry['task']>,
  where: readonly (string | number)[],
  report: Report,
): void => {
  const others = Object.entries(submit?.with ?? {}).map(
    ([member, { path }]) => [['submit', 'with', member, 'path'], path] as const,
  )
  for (const [place, path] of [[['submit', 'path'], submit?.path] as const, ...others]) {
    const wrong = path?.match(/\{[^}]*\}/g)?.find(each => each !== '{model}')
    if (wrong === undefined) continue
    const message = `this path has the placeholder ${wrong}; only {model} is replaced in it`
    report([...where, ...place], 'TASK_PATH', message, '{model}')
  }
}

/** The placeholders of the calls about one task. {id} is the id of the upstream, which is unknown
 *  while a task is looked for. */
const checkPaths = (
  { find, poll, cancel }: NonNullable<RouteEntry['task']>,
  where: readonly (string | number)[],
  report: Report,
): void => {
  const calls = [
    ['find', 'path', find?.path, ['{task}']],
    ['poll', 'path', poll?.path, ['{id}', '{task}']],
    ['poll', 'results_path', poll?.results_path, ['{id}', '{task}']],
    ['cancel', 'path', cancel?.path, ['{id}', '{task}']],
  ] as const
  for (const [call, member, path, placeholders] of calls) {
    if (path === undefined) continue
    const used = path.match(/\{[^}]*\}/g) ?? []
    const known: readonly string[] = placeholders
    const wrong = used.find(each => !known.includes(each))
    if (used.length > 0 && wrong === undefined) continue
    const fault = wrong === undefined ? 'names no task' : `has the placeholder ${wrong}`
    const message = `this path ${fault}; write ${known.join(' or ')} where the id of the task is`
    report([...where, call, member], 'TASK_PATH', message, known[0])
  }
}
