/** The providers that a new configuration can begin with: the presets, and the models and prices of
 *  the shipped catalogue. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAM } from '../../../engine/config/plugins/program.ts'
import type { Json } from '../../../engine/plugin.ts'
import { fieldsOf, shipped } from './shipped.ts'

type Fields = { readonly [key: string]: Json }
const sectionOf = (file: string, name: string): Fields => fieldsOf(shipped(file)[name])

export const presets = (): Fields => sectionOf('program/config/presets.yaml', 'presets')

/** `together-ai` -> `TOGETHER_AI`. */
const variablePrefix = (name: string): string => name.toUpperCase().replace(/\W/g, '_')

export interface Starter {
  readonly upstream: Fields
  readonly models: Fields
  /** Variable -> what it is, for `.env.example`. */
  readonly variables: Readonly<Record<string, string>>
}
/** Without a key the sandbox answers. */
export const starterFor = (name: string, preset: Fields): Starter => {
  const prefix = variablePrefix(name)
  const needs = Object.entries(fieldsOf(preset.needs))
  const hasKey = preset.auth !== 'none'
  const variables = [
    ...(hasKey ? [[`${prefix}_API_KEY`, `API key of ${preset.title ?? name}`]] : []),
    [`${prefix}_BASE_URL`, 'another address, only if it is not the usual one'],
    ...needs.map(([key, description]) => [`${prefix}_${key.toUpperCase()}`, String(description)]),
  ]
  return {
    upstream: {
      preset: name,
      url: `\${${prefix}_BASE_URL:-sandbox:}`,
      ...(hasKey && { key: `\${${prefix}_API_KEY:-}` }),
      ...Object.fromEntries(
        needs.map(([key]) => [key, `\${${prefix}_${key.toUpperCase()}:-${key}}`]),
      ),
    },
    models: modelsFor(name, preset),
    variables: Object.fromEntries(variables),
  }
}

/** The models of the shipped catalogue whose upstream is this provider, under the provider's own
 *  names; without any, every name of the provider, free of charge. */
const modelsFor = (name: string, preset: Fields): Fields => {
  const host = hostOf(preset.url)
  const upstreams = Object.entries(sectionOf('routes.yaml', 'upstreams'))
    .filter(([, options]) => host !== undefined && hostOf(fieldsOf(options).provider) === host)
    .map(([upstream]) => upstream)
  const models: Record<string, Fields> = {}
  for (const options of catalogueOf(upstreams)) {
    const [, upstream = '', model = ''] = /^([^/]+)\/([^*{]+)$/.exec(String(options.to)) ?? []
    if (!upstreams.includes(upstream) || !isConversation(options)) continue
    // Variants with thinking come after the model itself.
    models[model] ??= { to: `${name}/${model}`, ...pick(options) }
  }
  return Object.keys(models).length > 0
    ? models
    : { [`${name}/*`]: { to: `${name}/*`, free: true } }
}
const hostOf = (url: Json | undefined): string | undefined =>
  typeof url === 'string' ? URL.parse(url)?.host : undefined
/** A file of the catalogue has the name of its upstream; others there belong to the operator. */
const catalogueOf = (upstreams: readonly string[]): readonly Fields[] =>
  upstreams
    .map(name => `models/${name}.yaml`)
    .filter(file => existsSync(join(PROGRAM, file)))
    .flatMap(file => Object.values(sectionOf(file, 'models')).map(fieldsOf))
const isConversation = ({ price, traits, only }: Fields): boolean => {
  const meters = fieldsOf(price)
  const isText = fieldsOf(traits).formats === undefined && only === undefined
  return isText && meters.input !== undefined && meters.output !== undefined && !meters.audio_output
}
const COPIED = ['title', 'context', 'output', 'price', 'max_calls', 'traits']
const pick = (options: Fields): Fields =>
  Object.fromEntries(Object.entries(options).filter(([key]) => COPIED.includes(key)))
