/** Creates what the translators of one route share. */
import { amountIn, SIZES } from '../../engine/kit.ts'
import type { Host, Json } from '../../engine/plugin.ts'
import type { MediaHost } from '../conversion/media-fetch.ts'
import { servesSignedUrls } from '../file-store/signed-url.ts'
import { isFields } from '../formats/fields.ts'
import { ImageLinks } from './image-links.ts'
import { ThoughtCache } from './thought-cache.ts'
import type { TranslationContext } from './translation-context.ts'

export type RouteOptions = Pick<TranslationContext, 'strict' | 'autoCache'>

export const createContext = (host: Host, options: RouteOptions): TranslationContext => {
  const { log, upstreams } = host
  const fetches = new Map(
    Object.entries(upstreams).map(([name, { options }]) => [name, listOf(options.fetch)]),
  )
  const rules = new Map(
    Object.entries(upstreams).flatMap(([name, { options }]) =>
      isFields(options.rules) ? [[name, options.rules] as const] : [],
    ),
  )
  const uploads = new Map(
    Object.entries(upstreams).flatMap(([name, { options, inside }]) =>
      typeof options.upload === 'string' && inside === undefined
        ? [[name, amountIn(options.upload, SIZES)] as const]
        : [],
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
  return { log, host: mediaHost, imageLinks, thoughts, rules, fetches, uploads, ...options }
}

const listOf = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.map(String) : []
