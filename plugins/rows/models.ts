/** Rows of the public price page: the JSON Schema of a model, and its type. */
import {
  boolean,
  described,
  fields,
  integer,
  list,
  number,
  object,
  type Shape,
  type TypeOf,
  text,
} from '../shapes.ts'

const PRICE: Shape<string | object> = { type: ['string', 'object'] }
/** A meter and its price. Or, without a meter, the discount or the least price of a call. */
const PRICE_LINE = object(
  {},
  {
    meter: text,
    price: described('One that depends on the request is a table.', PRICE),
    min: text,
    discount: fields,
  },
)
const PRICES = list(PRICE_LINE)
export type PriceLine = TypeOf<typeof PRICE_LINE>
const ROUTE_PRICES = list(object({ path: text, prices: PRICES }))
export const routePrices = (description: string) => described(description, ROUTE_PRICES)

export const PRICED_MODEL = object(
  {
    model_name: text,
    owner_by: text,
    quota_type: integer,
    model_ratio: number,
    model_price: number,
    enable_groups: list(text),
    supported_endpoint_types: list(text),
    prices: described('The lines of the price, in the currency', PRICES),
  },
  {
    description: text,
    completion_ratio: number,
    cache_ratio: number,
    create_cache_ratio: number,
    image_ratio: number,
    audio_ratio: number,
    audio_completion_ratio: number,
    free: boolean,
    video_prices: list(
      object(
        { resolution: text, duration: number, credits: number, credits_per_second: number },
        { durations: list(object({ duration: number, credits: number })) },
      ),
    ),
    route_prices: routePrices('Prices of routes of their own, in place of the price of the model'),
  },
)
export type PricedModel = TypeOf<typeof PRICED_MODEL>
