/** Entries of `prices:`: the public list prices of a provider. */
import { json, list, map, object, required, text } from '../shape.ts'

const PRICE = { input: '2.00 USD / 1M', output: '8.00 USD / 1M' }
const MODELS = { large: PRICE }

export const PRICE_LIST = object('The price list of a provider.', {
  host: required(text("The host of the provider's API.", { examples: ['api.example.com'] })),
  source: required(
    text('The page that has the prices.', { examples: ['https://example.com/pricing'] }),
  ),
  date: required(
    text('The day for which the prices are stated.', {
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      examples: ['2026-01-31'],
    }),
  ),
  models: required(
    map(
      'Models by their names at the provider, with the standard price of each meter, as in `models.NAME.price`.',
      json('The price of each meter.', { type: 'object', examples: [PRICE] }),
      { examples: [MODELS] },
    ),
  ),
  uncertain: list(
    'Models of the catalogue whose price could not be compared.',
    text('Its name at the provider.', { examples: ['small'] }),
    { examples: [['small']] },
  ),
})
export const PRICE_EXAMPLE = {
  host: 'api.example.com',
  source: 'https://example.com/pricing',
  date: '2026-01-31',
  models: MODELS,
}
