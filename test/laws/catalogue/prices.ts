/** The catalogue agrees with the price book: models/prices.yaml says each list price once. */
import { parse } from 'yaml'
import { isSamePrice } from '../../../program/commands/starter/price-book.ts'
import type { Breach, SourceFile } from '../imports.ts'

type Fields = Record<string, unknown>
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}

const BOOK = 'models/prices.yaml'
/** Attributes whose `default` is the standard tier, which the book has. */
const TIERS = /^(service_tier|speed|inference_geo)$/

/** Prices of the catalogue that differ from the book, and models of its providers that it neither
 *  has nor names as uncertain. */
export const priceBreaches = (files: readonly SourceFile[]): Breach[] => {
  const documents = new Map(
    files
      .filter(({ path }) => /^(models\/[^/]+|routes)\.yaml$/.test(path))
      .map(({ path, text }) => [path, fieldsOf(parse(text))]),
  )
  const providers = Object.values(fieldsOf(documents.get(BOOK)?.prices)).map(fieldsOf)
  const upstreams = fieldsOf(documents.get('routes.yaml')?.upstreams)
  return [...documents].flatMap(([path, { models }]) =>
    Object.entries(fieldsOf(models)).flatMap(([name, options]) => {
      const { to, price } = fieldsOf(options)
      const [, upstream = '', model = ''] = /^([^/]+)\/(.*)$/.exec(String(to)) ?? []
      const host = URL.parse(String(fieldsOf(upstreams[upstream]).provider))?.host
      const list = providers.find(each => each.host === host)
      if (!list || price === undefined) return []
      return differences(list, model, fieldsOf(price)).map(message => ({
        path,
        line: 1,
        message: `${name}: ${message}`,
      }))
    }),
  )
}

const differences = (list: Fields, model: string, price: Fields): readonly string[] => {
  const models = fieldsOf(list.models)
  const listed = models[model] ?? models[model.replace(/-\d{4}-\d{2}-\d{2}$/, '')]
  if (listed !== undefined)
    return Object.entries(fieldsOf(listed))
      .filter(([meter, value]) => !isSamePrice(meter, standardOf(price[meter]), value as never))
      .map(([meter]) => `the price of ${meter} is not that of ${BOOK}`)
  const uncertain = Array.isArray(list.uncertain) ? list.uncertain : []
  return uncertain.includes(model) ? [] : [`${BOOK} neither has "${model}" nor names it uncertain`]
}

/** A price without the tables of tiers. */
const standardOf = (value: unknown): never => {
  if (Array.isArray(value)) return value.map(standardOf) as never
  if (typeof value !== 'object' || value === null) return value as never
  const { by, ...line } = value as Fields
  const attributes = [by].flat()
  if (!attributes.every(each => TIERS.test(String(each)))) return value as never
  const price = attributes.reduce<unknown>(table => fieldsOf(table).default, line.price)
  return (Object.keys(line).length === 1 ? price : { ...line, price }) as never
}
