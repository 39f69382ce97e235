/** Creates what the translators of one route share. */
import type { Host } from '../../engine/plugin.ts'
import type { MediaHost } from '../conversion/media-fetch.ts'
import { servesSignedUrls } from '../file-store/signed-url.ts'
import { ImageLinks } from './image-links.ts'
import { ThoughtCache } from './thought-cache.ts'
import type { TranslationContext } from './translation-context.ts'
import { readSettings, upstreamOptions } from './upstreams/options.ts'

export type RouteOptions = Pick<TranslationContext, 'strict' | 'autoCache'>

/** Whether answers have the name of the model that the client asked for. */
export const namesAskedModel = (host: Host): boolean =>
  readSettings(host.section('settings')).answer_model === 'asked'

export const createContext = (host: Host, ofRoute: RouteOptions): TranslationContext => {
  const { log, upstreams } = host
  const options = Object.entries(upstreams).map(
    ([name, upstream]) => [name, upstreamOptions(upstream), upstream.inside] as const,
  )
  const fetches = new Map(options.map(([name, { fetch = [] }]) => [name, fetch]))
  const rules = new Map(options.flatMap(([name, { rules }]) => (rules ? [[name, rules]] : [])))
  const uploads = new Map(
    options.flatMap(([name, { upload }, inside]) =>
      upload !== undefined && inside === undefined ? [[name, upload]] : [],
    ),
  )
  const thoughts = host.share<ThoughtCache>(
    'thoughts',
    '1',
    previous => previous ?? new ThoughtCache(),
  )
  const imageLinks = servesSignedUrls(host.section('routes')) ? new ImageLinks(host) : undefined
  const mediaHost: MediaHost = {
    send: host.send,
    ...(imageLinks && { findStored: url => imageLinks.find(url) }),
  }
  return { log, host: mediaHost, imageLinks, thoughts, rules, fetches, uploads, ...ofRoute }
}
