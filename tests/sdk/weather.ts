/** A tool that the simulator calls with WEATHER_INPUT. */
export const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] }, days: { type: 'integer', minimum: 1 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
}

export const WEATHER_INPUT = { city: 'Oslo', days: 1 }
